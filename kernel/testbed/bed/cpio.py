"""Writes a cpio archive in the form that Linux unpacks as an initramfs ("newc", 070701)."""

DIRECTORY, PROGRAM, CHARACTER = 0o040755, 0o100755, 0o020600


def entry(name, mode, data=b'', device=(0, 0), inode=0):
    """One member: a header of 13 fields of eight hexadecimal digits, name, data; each padded to 4."""
    raw = name.encode() + b'\0'
    links = 2 if mode & 0o170000 == 0o040000 else 1
    fields = (inode, mode, 0, 0, links, 0, len(data), 0, 0, *device, len(raw), 0)
    head = b'070701' + b''.join(b'%08X' % f for f in fields) + raw
    return head + b'\0' * (-len(head) % 4) + data + b'\0' * (-len(data) % 4)


def pack(files, folders=()):
    """files: name -> content, all executable; folders beside them; and /dev/console."""
    members = [(f, DIRECTORY, b'', (0, 0)) for f in folders]
    members += [(n, PROGRAM, data, (0, 0)) for n, data in sorted(files.items())]
    members.append(('dev/console', CHARACTER, b'', (5, 1)))
    body = b''.join(entry(name, mode, data, device, number)
                    for number, (name, mode, data, device) in enumerate(members, 1))
    return body + entry('TRAILER!!!', 0)
