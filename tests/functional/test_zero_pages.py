#!/usr/bin/env python3
"""Memory that the guest never used stays unpopulated on the destination."""

from lib import host, migration
from lib.testcase import FunctionalTest, main

LIMIT = 100 << 20


class ZeroPages(FunctionalTest):
    def machines(self, backend):
        """A source and a destination of 1 GiB; backend is text for -object, or None."""
        pair = []
        for name in ('a', 'b'):
            extra, machine = [], 'microvm'
            if backend:
                extra = ['-object', backend.format(path=self.path(name + '.mem'))]
                machine += ',memory-backend=m0'
            pair.append(self.machine(name, *extra, machine=machine, memory='1G',
                                     append='window=16M rate=20',
                                     incoming=self.uri('b') if name == 'b' else None))
        return pair

    def check(self, backend=None, multifd=False):
        if backend:
            self.require_tidemark('finding out that shared memory is zero populates it')
        a, b = self.machines(backend)
        a.wait_ready()
        for machine in (a, b):
            if multifd:
                offered = machine.qmp.cmd('query-migrate-capabilities')
                if not any(c['capability'] == 'multifd' for c in offered):
                    self.skipTest('the emulator has no multifd')
                migration.set_capabilities(machine, multifd=True)
                migration.set_parameters(machine, multifd_channels=2)
        migration.set_parameters(a, max_bandwidth=0)
        info = migration.run(a, b, self.uri('b'))
        b.check_guest()
        self.assertLess(info['ram']['transferred'], LIMIT)
        self.assertLess(host.resident_bytes(b.pid), LIMIT)

    def test_anonymous(self):
        self.check()

    def test_anonymous_multifd(self):
        self.check(multifd=True)

    def test_memfd(self):
        self.check('memory-backend-memfd,id=m0,size=1G')

    def test_memfd_multifd(self):
        self.check('memory-backend-memfd,id=m0,size=1G', True)

    def test_file(self):
        self.check('memory-backend-file,id=m0,size=1G,share=on,mem-path={path}')

    def test_file_multifd(self):
        self.check('memory-backend-file,id=m0,size=1G,share=on,mem-path={path}', True)


class Fresh(FunctionalTest):
    """A machine that has not run yet costs next to nothing, whatever memory its devices have."""

    def check(self, **options):
        a = self.machine('a', memory='1G', paused=True, **options)
        b = self.machine('b', memory='1G', paused=True, incoming=self.uri('b'), **options)
        info = migration.run(a, b, self.uri('b'))
        self.assertGreaterEqual(info['ram']['total'], 1 << 30)
        self.assertLess(info['ram']['normal-bytes'], 4 << 20)
        self.assertLess(host.resident_bytes(b.pid), LIMIT)

    def test_microvm(self):
        self.check()

    def test_virt(self):
        self.check(arch='aarch64', accel='tcg')


if __name__ == '__main__':
    main()
