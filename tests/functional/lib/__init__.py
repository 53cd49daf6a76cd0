"""Library of the functional tests: real emulator processes, real guests, QMP.

A test is three lines:

    a, b = self.machine('a'), self.machine('b', incoming=self.uri('b'))
    migration.run(a, b)
    b.check_guest()
"""
