"""The form of a patch file: what git am and a kernel maintainer expect of it."""

import re

HUNK = re.compile(r'^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@')


def parts(text):
    """(header lines, message lines, diff lines) of a mail that git format-patch wrote."""
    header, _, rest = text.partition('\n\n')
    message, _, diff = rest.partition('\n---\n')
    return header.split('\n'), message.split('\n'), diff.split('\n')


def subject(header):
    found = [i for i, line in enumerate(header) if line.startswith('Subject: ')]
    if not found:
        return None
    text = header[found[0]][9:]
    for line in header[found[0] + 1:]:
        if not line.startswith(' '):
            break
        text += line
    return text


def hunk_problems(diff):
    """Hunks whose lines are not as many as their head says: git am would call the patch corrupt."""
    found, want = [], None
    for line in diff:
        head = HUNK.match(line)
        if want and not (head or line):
            found.append('a hunk is cut short')
            want = None
        elif want and not head:
            kind = line[:1]
            if kind in ' -':
                want[0] -= 1
            if kind in ' +':
                want[1] -= 1
            if want[0] < 0 or want[1] < 0 or kind not in ' +-\\':
                found.append('a hunk is not as long as its head says: ' + line[:60])
            if want[0] <= 0 and want[1] <= 0:
                want = None
        elif head:
            if want:
                found.append('a hunk is cut short before ' + line[:60])
            want = [int(n) if n is not None else 1 for n in head.groups()]
    if want:
        found.append('the last hunk is cut short')
    return found


def problems(text):
    """What is wrong with the patch, as sentences; [] if nothing is."""
    header, message, diff = parts(text)
    found = []
    title = subject(header)
    if not title or not re.match(r'\[PATCH[^\]]*\] \S.*: \S', title):
        found.append('no subject of the form "[PATCH] area: what"')
    elif len(re.sub(r'^\[[^\]]*\] ', '', title)) > 75:
        found.append('the subject is longer than 75 characters')
    body = [line for line in message if line.strip()]
    if not any(line.startswith('Signed-off-by: ') for line in body):
        found.append('no Signed-off-by')
    if len([line for line in body if not re.match(r'^[A-Z][\w-]+: ', line)]) < 2:
        found.append('the message does not say why')
    if any(len(line) > 75 and not line.startswith((' ', '\t')) and ': ' not in line[:20]
           for line in body):
        found.append('a line of the message is longer than 75 characters')
    if not any(line.startswith('diff --git ') for line in diff):
        found.append('no diff')
    return found + hunk_problems(diff)
