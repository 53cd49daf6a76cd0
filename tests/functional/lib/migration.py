"""Driving a migration from one machine to another."""

import time

# States that a migration does not leave by itself.
ENDED = ('completed', 'failed', 'cancelled')


def set_capabilities(machine, **caps):
    """Keywords with '_' for '-', values True or False."""
    machine.qmp.cmd('migrate-set-capabilities', {'capabilities': [
        {'capability': name.replace('_', '-'), 'state': state} for name, state in caps.items()]})


def set_parameters(machine, **params):
    """Keywords with '_' for '-'."""
    machine.qmp.cmd('migrate-set-parameters', **params)


def status(machine):
    """Status of the migration, 'none' if there was none."""
    return machine.qmp.cmd('query-migrate').get('status', 'none')


def wait(machine, wanted=ENDED, timeout=60, interval=0.02):
    """Wait until the migration has one of the wanted states; returns the last query-migrate.

    Raises at once if it ends in another state.
    """
    deadline = time.monotonic() + timeout
    while True:
        info = machine.qmp.cmd('query-migrate')
        if info.get('status', 'none') in wanted:
            return info
        if info.get('status', 'none') in ENDED:
            raise AssertionError('migration of %s ended as %s' % (machine.name, info))
        if time.monotonic() > deadline:
            raise TimeoutError('migration of %s is %s after %g s: %s' % (
                machine.name, info.get('status'), timeout, info))
        time.sleep(interval)


def start(source, uri, **arguments):
    source.qmp.cmd('migrate', uri=uri, **arguments)


def finish(source, target=None, timeout=60):
    """Wait for completion on both sides; returns the source's query-migrate."""
    info = wait(source, timeout=timeout)
    if info['status'] != 'completed':
        raise AssertionError('migration of %s %s: %s\n%s' % (
            source.name, info['status'], info.get('error-desc'),
            target.stderr() if target else ''))
    if target:
        wait(target, ('completed',), 20)
    return info


def run(source, target, uri, timeout=60, **arguments):
    """Migrate and wait for completion; returns the source's query-migrate."""
    start(source, uri, **arguments)
    return finish(source, target, timeout)
