"""Packages of a Debian suite without installing them: apt in a folder of its own, dpkg -x beside it.

apt resolves and verifies; the mirror is the one that this machine already uses.
"""

import subprocess

KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'


class Problem(Exception):
    """Something that the user has to know; its text is all that is printed."""


def run(command, **options):
    done = subprocess.run(command, text=True, capture_output=True, check=False, **options)
    if done.returncode:
        raise Problem('%s failed: %s' % (' '.join(map(str, command[:2])),
                                         done.stderr.strip()[-600:]))
    return done.stdout


def mirror():
    """The address that apt takes Debian's main archive from."""
    targets = run(['apt-get', 'indextargets', '--format', '$(ORIGIN)|$(LABEL)|$(REPO_URI)',
                   'Created-By: Packages'])
    for line in targets.splitlines():
        origin, label, uri = line.split('|')
        if (origin, label) == ('Debian', 'Debian'):
            return uri
    raise Problem("apt's configuration names no Debian mirror (or 'apt-get update' was never run)")


def private_apt(folder, suite, architecture='amd64'):
    """Options that keep apt inside folder/apt, as if nothing were installed."""
    apt = folder / 'apt'
    for sub in ('state/lists/partial', 'cache/archives/partial'):
        (apt / sub).mkdir(parents=True, exist_ok=True)
    (apt / 'status').touch()
    (apt / 'sources.list').write_text(
        'deb [signed-by=%s] %s %s main\n' % (KEYRING, mirror(), suite), 'ascii')
    settings = {
        'Dir::State': apt / 'state', 'Dir::Cache': apt / 'cache',
        'Dir::State::status': apt / 'status',
        'Dir::Etc::sourcelist': apt / 'sources.list', 'Dir::Etc::sourceparts': '-',
        'Dir::Etc::preferencesparts': '-',
        'APT::Architecture': architecture, 'APT::Architectures': architecture,
        'APT::Sandbox::User': 'root', 'APT::Get::List-Cleanup': 'false',
        'Acquire::Languages': 'none',
    }
    return [part for key, value in settings.items() for part in ('-o', '%s=%s' % (key, value))]


def download(folder, suite, packages, architecture='amd64', alone=False):
    """The paths of .deb files: the package's or packages', and, unless alone, of all that they need."""
    names = [packages] if isinstance(packages, str) else packages
    options = private_apt(folder, suite, architecture)
    run(['apt-get', *options, 'update'])
    archives = folder / 'apt' / 'cache' / 'archives'
    if alone:
        run(['apt-get', *options, 'download', *names], cwd=archives)
    else:
        run(['apt-get', *options, '--yes', '--no-install-recommends', '--download-only',
             'install', *names])
    return sorted(archives.glob('*.deb'))
