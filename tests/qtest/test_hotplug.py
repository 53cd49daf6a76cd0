#!/usr/bin/env python3
"""Hot plug behind PCI Express root ports: what the slot tells, and when a device comes and goes."""

import virtio_pci as pci
from harness import DeviceTest, QMPError, main

MESSAGES = 0x40200000
PORT_BAR = pci.MEM32            # of the port's MSI-X table
# Registers of the Express capability, and bits of slot control and status.
LINK_STATUS, SLOT_CAP, SLOT_CONTROL, SLOT_STATUS = 0x12, 0x14, 0x18, 0x1a
LINK_ACTIVE = 0x2000
BUTTON, PRESENCE_CHANGED, COMPLETED, PRESENT = 0x01, 0x08, 0x10, 0x40
INTERRUPT, POWER_ON, POWER_BLINK, POWER_OFF = 0x20, 0x100, 0x200, 0x300
POWER_CONTROLLER_OFF = 0x400
ENABLES = BUTTON | PRESENCE_CHANGED | COMPLETED | INTERRUPT


class Slot(DeviceTest):
    arch = 'aarch64'
    machine_type = 'virt'

    def start(self, *args, port='', **kwargs):
        board = self.board('-m', '64', '-device', 'pcie-root-port,id=p,chassis=1,addr=2' + port, *args, **kwargs)
        board.slot = pci.Function(board.bus, 2)
        # bus 1 is behind the port, whose own BAR holds the table of messages
        for at, value, size in ((0x19, 1, 1), (0x1a, 1, 1), (pci.BAR0, PORT_BAR, 4),
                                (pci.COMMAND, pci.COMMAND_MEMORY | pci.COMMAND_MASTER, 2)):
            board.slot.write(at, value, size)
        board.at = board.slot.capability(pci.CAP_EXPRESS)
        return board

    def status(self, board):
        """What the slot says, and it is told that this was seen."""
        value = board.slot.read(board.at + SLOT_STATUS, 2)
        board.slot.write(board.at + SLOT_STATUS, value, 2)
        return value

    def control(self, board, value):
        board.slot.write(board.at + SLOT_CONTROL, value, 2)

    def add(self, board):
        board.qmp.cmd('device_add', driver='virtio-rng-pci', id='r', bus='p')

    def refused(self, board, pattern, command, **arguments):
        with self.assertRaises(QMPError) as caught:
            board.qmp.cmd(command, **arguments)
        self.assertRegex(caught.exception.desc, pattern)

    def present(self, board):
        return pci.Function(board.bus, 0, number=1).read(0) != 0xffffffff

    def test_device_comes_and_goes(self):
        board = self.start()
        self.assertEqual(board.slot.read(board.at + SLOT_CAP) & 0x60, 0x60)
        self.control(board, ENABLES | POWER_OFF | POWER_CONTROLLER_OFF)
        self.assertEqual(self.status(board), COMPLETED)
        self.add(board)
        self.assertEqual(self.status(board), BUTTON | PRESENCE_CHANGED | PRESENT)
        self.assertTrue(board.slot.read(board.at + LINK_STATUS, 2) & LINK_ACTIVE)
        self.assertEqual(pci.Function(board.bus, 0, number=1).read(0), 0x10441af4)
        self.control(board, ENABLES | POWER_ON)
        self.assertEqual(self.status(board), COMPLETED | PRESENT)
        board.qmp.cmd('device_del', id='r')
        self.assertEqual(self.status(board), BUTTON | PRESENT)
        self.refused(board, 'already in the process of unplug', 'device_del', id='r')
        self.control(board, ENABLES | POWER_BLINK)
        self.assertTrue(self.present(board))
        self.assertEqual(board.qmp.poll_events(), [])
        self.control(board, ENABLES | POWER_OFF | POWER_CONTROLLER_OFF)
        event = board.qmp.wait_event('DEVICE_DELETED')['data']
        self.assertEqual(event, {'device': 'r', 'path': '/machine/peripheral/r'})
        self.assertFalse(self.present(board))
        self.assertEqual(self.status(board), PRESENCE_CHANGED | COMPLETED)
        self.assertFalse(board.slot.read(board.at + LINK_STATUS, 2) & LINK_ACTIVE)
        self.add(board)     # the id is free again
        self.assertEqual(self.status(board), BUTTON | PRESENCE_CHANGED | PRESENT)

    def test_messages(self):
        """One when the first reason comes up, none for the next, one after all were seen."""
        board = self.start()
        bus = board.bus
        for at, value in enumerate((MESSAGES, 0, 0x55, 0)):
            bus.store(PORT_BAR + 4 * at, value)
        board.slot.write(board.slot.capability(pci.CAP_MSIX) + 2, 0x8000, 2)
        self.add(board)
        self.assertEqual(bus.load(MESSAGES), 0)
        self.control(board, ENABLES | POWER_OFF | POWER_CONTROLLER_OFF)
        self.assertEqual(bus.load(MESSAGES), 0x55)
        bus.store(MESSAGES, 0)
        self.control(board, ENABLES | POWER_ON)
        self.assertEqual(bus.load(MESSAGES), 0)
        self.status(board)
        board.qmp.cmd('device_del', id='r')
        self.assertEqual(bus.load(MESSAGES), 0x55)

    def test_without_asking(self):
        """A slot that the guest has switched off has nobody to ask."""
        board = self.start()
        self.add(board)
        board.qmp.cmd('device_del', id='r')
        board.qmp.wait_event('DEVICE_DELETED')
        self.assertFalse(self.present(board))

    def test_guest_throws_it_out(self):
        board = self.start('-device', 'virtio-rng-pci,id=r,bus=p')
        self.assertTrue(self.present(board))
        self.control(board, POWER_OFF | POWER_CONTROLLER_OFF)
        board.qmp.wait_event('DEVICE_DELETED')
        self.assertFalse(self.present(board))

    def test_refusals(self):
        board = self.start('-device', 'virtio-rng-pci,id=first,bus=p')
        self.refused(board, "'pcie.0' does not support hotplugging", 'device_add', driver='virtio-rng-pci', bus='pcie.0')
        self.refused(board, "bus 'p'", 'device_add', driver='virtio-rng-pci', bus='p')
        self.control(board, POWER_BLINK)
        self.refused(board, 'blinks', 'device_del', id='first')
        self.refused(board, "'pcie.0' does not support hotplugging", 'device_del', id='p')
        fixed = self.start('-device', 'virtio-rng-pci,id=r,bus=p', port=',hotplug=off', name='b')
        self.assertEqual(fixed.slot.read(fixed.at + SLOT_CAP) & 0x60, 0)
        self.refused(fixed, "'p' does not support hotplugging", 'device_del', id='r')

    def test_a_request_ends_with_a_reset(self):
        board = self.start('-device', 'virtio-rng-pci,id=r,bus=p')
        board.qmp.cmd('device_del', id='r')
        board.qmp.cmd('system_reset')
        board.qmp.wait_event('RESET')
        self.assertEqual(board.slot.read(board.at + SLOT_STATUS, 2), PRESENT)
        board.qmp.cmd('device_del', id='r')
        self.assertEqual(board.slot.read(board.at + SLOT_STATUS, 2), PRESENT | BUTTON)


if __name__ == '__main__':
    main()
