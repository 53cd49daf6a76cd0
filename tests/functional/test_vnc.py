#!/usr/bin/env python3
"""VNC: addresses and options, passwords, several viewers, viewers that misbehave, and a migration beside them."""

import contextlib
import os
import socket
import subprocess
import time

from lib import migration
from lib.qmp import QMPError
from lib.rfb import RFB, Refused
from lib.testcase import FunctionalTest, main


def free_display():
    """A display number whose port nobody uses, and the port."""
    for number in range(40, 400):
        with socket.socket() as s:
            try:
                s.bind(('127.0.0.1', 5900 + number))
            except OSError:
                continue
            return number, 5900 + number
    raise RuntimeError('no free port')


class VNC(FunctionalTest):
    arch = 'aarch64'
    accel = 'tcg'

    def start(self, *options, name='a', **kwargs):
        kwargs.setdefault('memory', '64M')
        kwargs.setdefault('append', 'window=4M rate=20')
        return self.machine(name, *options, **kwargs)

    def unix(self, options='', **kwargs):
        """A machine with a VNC server, and the server's socket."""
        path = self.path('vnc')
        return self.start('-vnc', 'unix:' + path + options, **kwargs), path

    def view(self, *args, **kwargs):
        viewer = RFB(*args, **kwargs)
        self.addCleanup(viewer.close)
        return viewer

    def refusal(self, *options):
        """Standard error of an emulator that must not start."""
        done = subprocess.run([self.binary, '-M', 'virt', '-nodefaults', '-S', *options], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def test_a_viewer_over_tcp(self):
        number, port = free_display()
        a = self.start('-vnc', ':%d' % number, '-name', 'guest=shown')
        info = a.qmp.cmd('query-vnc')
        self.assertEqual(info, {'enabled': True, 'host': '127.0.0.1', 'service': str(port), 'family': 'ipv4',
                                'auth': 'none', 'clients': []})
        viewer = self.view(('127.0.0.1', port))
        self.assertEqual((viewer.width, viewer.height, viewer.name), (640, 480, 'Tidemark (shown)'))
        self.assertEqual((viewer.bits, viewer.depth, viewer.red, viewer.green, viewer.blue), (32, 24, 16, 8, 0))
        viewer.refresh()
        self.assertEqual(viewer.pixel(0, 0), (0, 0, 0))
        event = a.qmp.wait_event('VNC_INITIALIZED')['data']
        mine = str(viewer.sock.getsockname()[1])
        self.assertEqual(event['client'], {'host': '127.0.0.1', 'service': mine, 'family': 'ipv4', 'websocket': False})
        self.assertEqual(event['server'], {'host': '127.0.0.1', 'service': str(port), 'family': 'ipv4',
                                           'websocket': False, 'auth': 'none'})
        servers = a.qmp.cmd('query-vnc-servers')
        self.assertEqual([s['id'] for s in servers], ['default'])
        self.assertEqual(servers[0]['clients'], [event['client']])
        self.assertIn(mine, a.qmp.hmp('info vnc'))
        viewer.close()
        a.qmp.wait_event('VNC_DISCONNECTED')
        self.assertEqual(a.qmp.cmd('query-vnc')['clients'], [])

    def test_no_server(self):
        a = self.start('-vnc', 'none')
        self.assertEqual(a.qmp.cmd('query-vnc'), {'enabled': False})
        self.assertEqual(a.qmp.cmd('query-vnc-servers'), [])
        self.assertIn('disabled', a.qmp.hmp('info vnc'))

    def test_a_socket_goes_with_its_server(self):
        a, path = self.unix()
        self.assertEqual(a.qmp.cmd('query-vnc')['family'], 'unix')
        self.assertEqual(a.qmp.cmd('query-vnc')['service'], path)
        self.view(path).refresh()
        a.qmp.cmd('quit')
        a.wait_exit()
        self.assertFalse(os.path.exists(path))

    def test_a_port_in_use_is_named_or_passed_over(self):
        number, port = free_display()
        with socket.socket() as s:
            s.bind(('127.0.0.1', port))
            s.listen()
            text = self.refusal('-vnc', '127.0.0.1:%d' % number)
            self.assertRegex(text, r'-vnc 127\.0\.0\.1:%d: .*127\.0\.0\.1:%d.*Address already in use' % (number, port))
            a = self.start('-display', 'vnc=127.0.0.1:%d,to=%d' % (number, number + 50))
            self.assertGreater(int(a.qmp.cmd('query-vnc')['service']), port)

    def test_refusals_name_what_would_work(self):
        for option, text in (
                ('localhost', r'\[HOST\]:NUMBER or unix:PATH'), (':x', "display number 'x'"), (':70000', '0 to 59635'),
                (':-1', "'-1'"), ('unix:', 'needs a path'), (':1,websocket=on', 'websocket=on .*websockify'),
                (':1,sasl=on', 'password=on'), (':1,tls-creds=t', 'tls-creds=t'), (':1,share=force-shared', 'ignore'),
                (':1,nonesuch=5', 'nonesuch=5'), (':1,reverse=on', 'reverse=on'), (':1,to=x', "'x'"),
                (':1,password-secret=s', 'password-secret=s: no such object')):
            with self.subTest(option):
                self.assertRegex(self.refusal('-vnc', option), text)
        self.assertRegex(self.refusal('-display', 'gtk'), '-display gtk .*-display none, or -vnc :0')
        done = subprocess.run([self.binary, '-display', 'help'], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.split()[-2:], ['none', 'vnc'])

    def test_passwords(self):
        a, path = self.unix(',password=on')
        self.assertEqual(a.qmp.cmd('query-vnc')['auth'], 'vnc')
        with self.assertRaises(Refused):
            RFB(path)
        with self.assertRaises(Refused):    # none is set yet
            RFB(path, password='')
        a.qmp.cmd('set_password', protocol='vnc', password='secret')
        self.view(path, password='secret').refresh()
        with self.assertRaises(Refused):
            RFB(path, password='Secret')
        a.qmp.cmd('change-vnc-password', password='longer than eight')
        self.view(path, password='longer than eight').refresh()
        self.view(path, password='longer t').refresh()
        a.qmp.cmd('expire_password', protocol='vnc', time='now')
        with self.assertRaises(Refused):
            RFB(path, password='longer t')
        a.qmp.cmd('expire_password', protocol='vnc', time='+3600', display='default')
        self.view(path, password='longer t').refresh()
        a.qmp.cmd('expire_password', protocol='vnc', time=str(int(time.time()) - 1))
        with self.assertRaises(Refused):
            RFB(path, password='longer t')
        a.qmp.cmd('expire_password', protocol='vnc', time='never')
        self.view(path, password='longer t').refresh()
        self.assertEqual(a.qmp.hmp('change vnc password another'), '')
        self.view(path, password='another').refresh()
        for command, arguments, text in (
                ('expire_password', {'protocol': 'vnc', 'time': 'soon'}, "'soon' is not now, never"),
                ('expire_password', {'protocol': 'vnc', 'time': 'now', 'display': 'x'}, "no VNC server 'x'"),
                ('set_password', {'protocol': 'spice', 'password': 'x'}, 'spice'),
                ('set_password', {'protocol': 'vnc', 'password': 'x', 'connected': 'fail'}, 'fail')):
            with self.assertRaisesRegex(QMPError, text):
                a.qmp.cmd(command, **arguments)

    def test_a_password_from_a_secret(self):
        path = self.path('vnc')
        self.start('-object', 'secret,id=s,data=hush', '-vnc', 'unix:%s,password-secret=s' % path)
        self.view(path, password='hush').refresh()

    def test_a_password_needs_a_server_that_asks(self):
        a, _ = self.unix()
        with self.assertRaisesRegex(QMPError, 'password=on'):
            a.qmp.cmd('change-vnc-password', password='x')
        b = self.start(name='b')
        with self.assertRaisesRegex(QMPError, 'no VNC server'):
            b.qmp.cmd('change-vnc-password', password='x')

    def test_several_servers(self):
        one, two = self.path('one'), self.path('two')
        a = self.start('-vnc', 'unix:%s,id=one' % one, '-vnc', 'unix:%s,id=two,password=on' % two)
        a.qmp.cmd('set_password', protocol='vnc', password='x', display='two')
        self.assertEqual([(s['id'], s['auth']) for s in a.qmp.cmd('query-vnc-servers')],
                         [('one', 'none'), ('two', 'vnc')])
        self.view(one).refresh()
        self.view(two, password='x').refresh()
        self.assertRegex(self.refusal('-vnc', 'unix:' + self.path('x'), '-vnc', 'unix:' + self.path('y')), 'id=default')

    def test_an_exclusive_viewer_drops_the_others_unless_told_not_to(self):
        _, path = self.unix()
        first = self.view(path)
        self.view(path).refresh()
        first.refresh()
        self.view(path, shared=False).refresh()
        with self.assertRaises(OSError):
            first.refresh()
        path = self.path('ignores')
        self.start('-vnc', 'unix:%s,share=ignore' % path, name='b')
        first = self.view(path)
        self.view(path, shared=False).refresh()
        first.refresh()

    def test_web_pages_get_no_connection(self):
        number, port = free_display()
        a = self.start('-vnc', ':%d' % number)
        with socket.create_connection(('127.0.0.1', port), 20) as s:
            s.sendall(b'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nOrigin: http://evil\r\n'
                      b'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n'
                      b'Sec-WebSocket-Protocol: binary\r\n\r\n')
            with contextlib.suppress(ConnectionResetError):
                while s.recv(4096):     # ends: the connection does
                    pass
        self.wait_for(lambda: a.qmp.cmd('query-vnc')['clients'] == [], 'an end of the connection')
        self.view(('127.0.0.1', port)).refresh()

    def test_nobody_waits_for_viewers_that_do_not_read(self):
        """The guest, the monitor and a migration go on; so does the end of the process."""
        a, path = self.unix()
        b = self.start(name='b', incoming=self.uri('b'))
        a.wait_ready()
        deaf = self.view(path)
        for _ in range(20):     # each is answered with more than a megabyte
            deaf.request(incremental=False)
        half = self.view(path)
        half.sock.sendall(b'\x03\0')    # the beginning of a request
        silent = socket.socket(socket.AF_UNIX)
        self.addCleanup(silent.close)
        silent.connect(path)
        written = a.written()
        self.wait_for(lambda: a.written() > written, 'writes of the guest')
        migration.run(a, b, self.uri('b'))
        b.check_guest()
        a.qmp.cmd('quit')
        self.assertEqual(a.wait_exit(), 0)

    def test_garbage_ends_only_its_connection(self):
        a, path = self.unix()
        for garbage in (b'RFB 999.999\n', b'\xff' * 4096, b'RFB 003.008\n\x01\x01\xff\xff\xff', b'GET', b'GE', b'G'):
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(path)
                s.sendall(garbage)
        part = socket.socket(socket.AF_UNIX)    # stays, and says no more
        self.addCleanup(part.close)
        part.connect(path)
        part.sendall(b'G')
        self.view(path).refresh()
        self.assertTrue(a.alive())

    def test_under_a_sandbox(self):
        path = self.path('vnc')
        a = self.start('-vnc', 'unix:' + path, '-sandbox',
                       'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny')
        self.view(path).refresh()
        self.assertEqual(a.stderr(), '')

    def test_a_migration_tells_viewers_nothing(self):
        a, _ = self.unix()
        with self.assertRaisesRegex(QMPError, 'SPICE is not in use'):
            a.qmp.cmd('client_migrate_info', protocol='spice', hostname='h', port=1)
        with self.assertRaisesRegex(QMPError, 'connect anew'):
            a.qmp.cmd('client_migrate_info', protocol='vnc', hostname='h', port=1)


if __name__ == '__main__':
    main()
