"""A disk with a GUID partition table, put together from files (UEFI specification 2.10, 5.3)."""

import os
import struct
import uuid
import zlib

SECTOR = 512
ALIGN = 1 << 20
ENTRIES, ENTRY = 128, 128

EFI_SYSTEM = uuid.UUID('c12a7328-f81f-11d2-ba4b-00a0c93ec93b')
LINUX = uuid.UUID('0fc63daf-8483-4772-8e79-3d69d8477de4')


def _header(at, other, last_usable, entries_at, crc):
    disk = uuid.UUID('71de71de-0000-4000-8000-0000000000d1')

    def pack(own_crc):
        return struct.pack('<8sIIIIQQQQ16sQIII', b'EFI PART', 0x10000, 92, own_crc, 0, at, other,
                           2048, last_usable, disk.bytes_le, entries_at, ENTRIES, ENTRY, crc)
    return pack(zlib.crc32(pack(0)))


def _protective(sectors):
    """A partition of type 0xee over the whole disk, for those that know only the older table."""
    entry = struct.pack('<B3sB3sII', 0, b'\0\2\0', 0xee, b'\xff\xff\xff', 1, min(sectors - 1, 0xffffffff))
    return bytes(446) + entry + bytes(48) + b'\x55\xaa'


def write_disk(path, parts):
    """parts: (type, name, file) in their order; returns the offset of each in bytes.

    The files are copied with their holes; sizes are multiples of a mebibyte.
    """
    offsets, entries, at = [], b'', ALIGN
    for number, (kind, name, file) in enumerate(parts, 1):
        size = os.path.getsize(file)
        if size % ALIGN:
            raise ValueError('%s: %d bytes are no whole mebibytes' % (file, size))
        own = uuid.UUID('71de71de-0000-4000-8000-0000000000%02x' % number)
        entries += struct.pack('<16s16sQQQ72s', kind.bytes_le, own.bytes_le, at // SECTOR,
                               (at + size) // SECTOR - 1, 0, name.encode('utf-16-le'))
        offsets.append(at)
        at += size
    entries += bytes(ENTRIES * ENTRY - len(entries))
    sectors = at // SECTOR + 2048
    last, crc = sectors - 1, zlib.crc32(entries)
    with open(path, 'wb') as disk:
        disk.truncate(sectors * SECTOR)
        for offset, (_, _, file) in zip(offsets, parts):
            _copy(file, disk, offset)
        disk.seek(0)
        disk.write(_protective(sectors) + _header(1, last, last - 33, 2, crc).ljust(SECTOR, b'\0') + entries)
        disk.seek((last - 32) * SECTOR)
        disk.write(entries + _header(last, 1, last - 33, last - 32, crc).ljust(SECTOR, b'\0'))
    return offsets


def _copy(name, disk, offset):
    with open(name, 'rb') as file:
        end, at = os.path.getsize(name), 0
        while at < end:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:     # ENXIO: a hole up to the end
                return
            stop = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            file.seek(at)
            disk.seek(offset + at)
            while at < stop:
                data = file.read(min(stop - at, 1 << 20))
                disk.write(data)
                at += len(data)


def extract(disk, offset, size, path):
    """One partition of a raw disk as a file."""
    with open(disk, 'rb') as source, open(path, 'wb') as out:
        source.seek(offset)
        left = size
        while left:
            data = source.read(min(left, 1 << 20))
            if not data:
                raise OSError('%s ends within a partition' % disk)
            if data.count(0) == len(data):
                out.seek(len(data), os.SEEK_CUR)
            else:
                out.write(data)
            left -= len(data)
        out.truncate(size)
