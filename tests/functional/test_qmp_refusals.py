#!/usr/bin/env python3
"""Which migration commands are accepted in which state, and what a refusal says.

The outcomes are those of QEMU 7.2, measured; the texts need only name the precondition.
"""

from lib import migration
from lib.qmp import QMPError
from lib.testcase import FunctionalTest, main

OK = None

# Commands out of place, refused in every state that is not theirs.
OUT_OF_PLACE = (
    ('migrate-pause', {}, 'postcopy'),
    ('migrate-continue', {'state': 'pre-switchover'}, 'state'),
    ('migrate-recover', {'uri': 'unix:/nowhere'}, 'postcopy'),
    ('migrate-start-postcopy', {}, '(?i)postcopy'),
)

IDLE = (
    ('migrate', {}, 'uri|channels'),
    ('migrate', {'uri': 'nonsense'}, 'uri|protocol|scheme'),
    ('migrate', {'uri': 'zzz:1'}, 'uri|protocol|scheme'),
    ('migrate', {'uri': 'tcp:foo'}, 'foo'),
    ('migrate', {'uri': 'fd:nope'}, 'nope'),
    ('migrate', {'uri': 'unix:/nowhere', 'resume': True}, 'resume|paused'),
    ('migrate-incoming', {'uri': 'unix:/nowhere'}, '-incoming'),
    ('migrate_cancel', {}, OK),
    ('migrate-set-capabilities', {}, 'capabilities'),
)

CAPABILITIES = (
    ({'nope': True}, 'nope'),
    ({'postcopy-preempt': True}, '(?i)postcopy-ram'),
    ({'zero-copy-send': True}, '(?i)multifd'),
    ({'xbzrle': True, 'auto-converge': True, 'events': True}, OK),
    ({'xbzrle': False, 'auto-converge': False}, OK),
)

# Parameter, values refused, values accepted.
PARAMETERS = (
    ('downtime-limit', (-1, 2000001, 'x'), (0, 2000000, 300)),
    ('cpu-throttle-initial', (0, 100), (1, 20)),
    ('cpu-throttle-increment', (0, 100), (99, 10)),
    ('max-cpu-throttle', (19, 100), (20, 99)),
    ('throttle-trigger-threshold', (0, 101), (1, 100, 50)),
    ('multifd-channels', (0, 256, -1, 1, 255), (2,)),
    ('max-postcopy-bandwidth', (1,), (0,)),
    ('vcpu-dirty-limit', (0, 2), (1,)),
    ('xbzrle-cache-size', (1024, 5000), (4096, 1 << 26)),
    ('announce-initial', (100001,), (0, 50)),
    ('announce-max', (100001,), (0, 550)),
    ('announce-rounds', (1001,), (0, 5)),
    ('announce-step', (0, 10001), (1, 100)),
    ('multifd-compression', ('lzma',), ('none',)),
    ('max-bandwidth', ('x',), (0, 134217728)),
    ('nope', (1,), ()),
)

# On a machine that waits for its incoming migration.
INCOMING = (
    ('cont', {}, OK),
    ('query-status', {}, OK),
    ('stop', {}, OK),
    ('migrate', {'uri': 'unix:/nowhere'}, 'incoming'),
    ('migrate-set-capabilities', {'capabilities': [{'capability': 'events', 'state': True}]}, OK),
    ('migrate-incoming', {}, 'uri|channels'),
    ('migrate-incoming', {'uri': 'zzz:1'}, 'zzz'),
    ('migrate-incoming', {'uri': 'unix:/nowhere/x'}, 'nowhere'),
)

ACTIVE = (
    ('migrate', {'uri': 'unix:/nowhere'}, 'in progress'),
    ('migrate', {'uri': 'unix:/nowhere', 'resume': True}, 'resume|paused'),
    ('migrate-incoming', {'uri': 'unix:/nowhere'}, '-incoming'),
    ('migrate-set-capabilities', {'capabilities': [{'capability': 'xbzrle', 'state': True}]},
     'in progress'),
    ('migrate-set-parameters', {'max-bandwidth': 2000000}, OK),
    ('migrate-set-parameters', {'downtime-limit': 400}, OK),
    ('stop', {}, OK),
    ('cont', {}, OK),
)


class Refusals(FunctionalTest):
    def check(self, machine, command, arguments, pattern, oob=False):
        """The command succeeds if pattern is None, else fails with a text that matches."""
        with self.subTest(machine.name, command=command, arguments=arguments, oob=oob):
            try:
                machine.qmp.cmd(command, arguments, oob=oob)
            except QMPError as err:
                self.assertIsNotNone(pattern, 'refused: %s' % err)
                self.assertEqual(err.error_class, 'GenericError')
                self.assertRegex(err.desc, pattern)
            else:
                self.assertIsNone(pattern, 'accepted')

    def check_all(self, machine, *tables):
        for table in tables:
            for command, arguments, pattern in table:
                self.check(machine, command, arguments, pattern)

    def check_out_of_band(self, machine):
        for command, arguments, pattern in OUT_OF_PLACE:
            if command in ('migrate-pause', 'migrate-recover'):
                self.check(machine, command, arguments, pattern, oob=True)

    def source(self):
        a = self.machine('a', append='window=16M rate=20', memory='128M', oob=True)
        a.wait_ready()
        return a

    def target(self, **kwargs):
        return self.machine('b', memory='128M', incoming='defer', oob=True, **kwargs)

    def test_idle(self):
        a = self.source()
        self.check_all(a, OUT_OF_PLACE, IDLE)
        self.check_out_of_band(a)
        self.assert_running(a)

    def test_capabilities(self):
        a = self.source()
        for caps, pattern in CAPABILITIES:
            self.check(a, 'migrate-set-capabilities', {'capabilities': [
                {'capability': name, 'state': state} for name, state in caps.items()]}, pattern)
        on = {cap['capability'] for cap in a.qmp.cmd('query-migrate-capabilities') if cap['state']}
        self.assertEqual(on, {'events'})

    def test_parameters(self):
        a = self.source()
        for name, refused, accepted in PARAMETERS:
            for value in accepted:
                self.check(a, 'migrate-set-parameters', {name: value}, OK)
                self.assertEqual(a.qmp.cmd('query-migrate-parameters')[name], value)
            before = a.qmp.cmd('query-migrate-parameters')
            for value in refused:
                self.check(a, 'migrate-set-parameters', {name: value}, name.replace('-', '[-_]'))
            self.assertEqual(a.qmp.cmd('query-migrate-parameters'), before)

    def test_parameters_are_set_together_or_not_at_all(self):
        a = self.source()
        self.assert_refused(a, 'migrate-set-parameters', max_bandwidth=5, downtime_limit=-1)
        self.assertEqual(a.qmp.cmd('query-migrate-parameters')['max-bandwidth'], 134217728)

    def test_incoming(self):
        b = self.target()
        self.check_all(b, OUT_OF_PLACE, INCOMING)
        self.assertEqual(b.status(), 'inmigrate')
        self.check(b, 'migrate-incoming', {'uri': self.uri('b')}, OK)
        self.check(b, 'migrate-incoming', {'uri': self.uri('b')}, 'already')
        self.check_all(b, OUT_OF_PLACE, INCOMING[:4])
        self.check_out_of_band(b)
        self.assertEqual(b.status(), 'inmigrate')

    def test_active(self):
        a, b = self.source(), self.target()
        b.qmp.cmd('migrate-incoming', uri=self.uri('b'))
        migration.set_parameters(a, max_bandwidth=2_000_000)
        migration.start(a, self.uri('b'))
        migration.wait(a, ('active',))
        self.check_all(a, OUT_OF_PLACE, ACTIVE)
        self.check_out_of_band(a)
        migration.wait(b, ('active',))
        self.check_all(b, OUT_OF_PLACE, INCOMING[:4])
        self.check(b, 'migrate-incoming', {'uri': self.uri('b')}, 'already')
        self.check_out_of_band(b)
        self.assertEqual(migration.status(a), 'active')
        self.assertEqual(b.status(), 'inmigrate')
        b.qmp.cmd('cont')
        migration.set_parameters(a, max_bandwidth=0)
        migration.finish(a, b)
        b.check_guest()

    def test_after_completion(self):
        a, b = self.source(), self.target()
        b.qmp.cmd('migrate-incoming', uri=self.uri('b'))
        migration.run(a, b, self.uri('b'))
        self.check_all(a, OUT_OF_PLACE, (
            ('migrate', {'uri': 'unix:/nowhere'}, 'previous migration|postmigrate'),))
        self.assertEqual(a.status(), 'postmigrate')
        self.check_all(b, OUT_OF_PLACE, (
            ('migrate-incoming', {'uri': 'unix:/nowhere'}, 'already'),))
        self.assert_running(b)
        self.check(a, 'cont', {}, OK)
        self.assert_running(a)

    def test_stop_while_incoming_decides_the_state_afterwards(self):
        for command, state in (('cont', 'running'), ('stop', 'paused')):
            with self.subTest(command=command):
                a, b = self.source(), self.target(paused=command == 'cont')
                b.qmp.cmd('migrate-incoming', uri=self.uri('b'))
                b.qmp.cmd(command)
                migration.run(a, b, self.uri('b'))
                self.assertEqual(b.status(), state)
                a.close()
                b.close()


if __name__ == '__main__':
    main()
