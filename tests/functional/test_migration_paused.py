#!/usr/bin/env python3
"""A paused machine with a disk moves twice and goes on at the end."""

from lib import migration
from lib.testcase import FunctionalTest, main


class PausedTwice(FunctionalTest):
    def start(self, name, **kwargs):
        return self.machine(name, '-drive', 'if=none,id=d0,format=raw,file=' + self.path('disk'),
                            '-global', 'virtio-mmio.force-legacy=false',
                            '-device', 'virtio-blk-device,drive=d0', guest='disk',
                            append='blocks=16 interval=20', **kwargs)

    def test_two_hops(self):
        with open(self.path('disk'), 'wb') as disk:
            disk.truncate(1 << 20)
        a = self.start('a')
        a.serial.wait(r'DISK OK round=3\n')
        a.qmp.cmd('stop')
        self.assertEqual(a.status(), 'paused')
        b = self.start('b', incoming=self.uri('b'))
        migration.run(a, b, self.uri('b'))
        self.assertEqual(b.status(), 'paused')
        a.quit()
        c = self.start('c', incoming=self.uri('c'))
        migration.run(b, c, self.uri('c'))
        self.assertEqual(c.status(), 'paused')
        b.quit()
        for machine in (b, c):
            self.assertEqual(machine.serial.text(), '', 'ran while paused')
        rounds = [int(m.group(1)) for _, m in a.serial.lines(r'DISK OK round=(\d+)')]
        c.qmp.cmd('cont')
        c.serial.wait(r'DISK OK round=%d\n' % (rounds[-1] + 3))
        self.assertNotIn('ERROR', c.serial.text())


if __name__ == '__main__':
    main()
