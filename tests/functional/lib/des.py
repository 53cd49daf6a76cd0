"""The Data Encryption Standard (FIPS 46-3), with which VNC hides its passwords."""

_IP = [58 - 8 * (i % 8) + d for d in (0, 2, 4, 6, -1, 1, 3, 5) for i in range(8)]
_E = [(4 * i + j - 1) % 32 + 1 for i in range(8) for j in range(6)]
_P = [16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10,
      2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6, 22, 11, 4, 25]
_PC1 = [57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44, 36,
        63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20, 12, 4]
_PC2 = [14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2,
        41, 52, 31, 37, 47, 55, 30, 40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32]
_SHIFTS = [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1]
# Each box: four rows of sixteen, one hexadecimal digit an entry.
_S = [
    'e4d12fb83a6c5907 0f74e2d1a6cb9538 41e8d62bfc973a50 fc8249175b3ea06d',
    'f18e6b34972dc05a 3d47f28ec01a69b5 0e7ba4d158c6932f d8a13f42b67c05e9',
    'a09e63f51dc7b428 d709346a285ecbf1 d6498f30b12c5ae7 1ad069874fe3b52c',
    '7de3069a1285bc4f d8b56f03472c1ae9 a690cb7df13e5284 3f06a1d8945bc72e',
    '2c417ab6853fd0e9 eb2c47d150fa3986 421bad78f9c5630e b8c71e2d6f09a453',
    'c1af92680d34e75b af427c9561de0b38 9ef528c3704a1db6 432c95fabe17608d',
    '4b2ef08d3c975a61 d0b7491ae35c2f86 14bdc37eaf680592 6bd814a7950fe23c',
    'd2846fb1a93e50c7 1fd8a374c56b0e92 7b419ce206adf358 21e74a8dfc90356b',
]


def _pick(bits, table):
    return [bits[i - 1] for i in table]


def _bits(data):
    return [byte >> 7 - i & 1 for byte in data for i in range(8)]


def _round(half, key):
    mixed = [a ^ b for a, b in zip(_pick(half, _E), key)]
    out = []
    for box in range(8):
        six = mixed[6 * box:6 * box + 6]
        row = six[0] * 2 + six[5]
        column = six[1] * 8 + six[2] * 4 + six[3] * 2 + six[4]
        value = int(_S[box].split()[row][column], 16)
        out += [value >> 3 - i & 1 for i in range(4)]
    return _pick(out, _P)


def _keys(key):
    bits = _pick(_bits(key), _PC1)
    left, right = bits[:28], bits[28:]
    for shift in _SHIFTS:
        left, right = left[shift:] + left[:shift], right[shift:] + right[:shift]
        yield _pick(left + right, _PC2)


def encrypt(key, data):
    """Blocks of eight bytes, each by itself."""
    inverse = [_IP.index(i + 1) + 1 for i in range(64)]
    out = bytearray()
    for at in range(0, len(data), 8):
        bits = _pick(_bits(data[at:at + 8]), _IP)
        left, right = bits[:32], bits[32:]
        for key_bits in _keys(key):
            left, right = right, [a ^ b for a, b in zip(left, _round(right, key_bits))]
        bits = _pick(right + left, inverse)
        out += bytes(int(''.join(map(str, bits[i:i + 8])), 2) for i in range(0, 64, 8))
    return bytes(out)


def mirrored(key):
    """VNC takes the bits of each byte of a key in the other order."""
    return bytes(int('{:08b}'.format(byte)[::-1], 2) for byte in key)
