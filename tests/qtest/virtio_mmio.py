"""Driver of a virtio-mmio device, as far as tests need it (Virtio 1.2, 2.7 and 4.2)."""

import struct

BASE, STEP, COUNT = 0xfeb00000, 512, 24

MAGIC, VERSION, DEVICE_ID = 0x000, 0x004, 0x008
DEVICE_FEATURES, DEVICE_FEATURES_SEL = 0x010, 0x014
DRIVER_FEATURES, DRIVER_FEATURES_SEL = 0x020, 0x024
QUEUE_SEL, QUEUE_NUM_MAX, QUEUE_NUM, QUEUE_READY, QUEUE_NOTIFY = 0x030, 0x034, 0x038, 0x044, 0x050
INTERRUPT_STATUS, INTERRUPT_ACK, STATUS = 0x060, 0x064, 0x070
QUEUE_DESC, QUEUE_DRIVER, QUEUE_DEVICE = 0x080, 0x090, 0x0a0
CONFIG_GENERATION, CONFIG = 0x0fc, 0x100

ACKNOWLEDGE, DRIVER, DRIVER_OK, FEATURES_OK = 1, 2, 4, 8
F_VERSION_1 = 1 << 32
NET, BLOCK, CONSOLE, ENTROPY, BALLOON = 1, 2, 3, 4, 5

_DESC_NEXT, _DESC_WRITE = 1, 2


class Queue:
    """A split virtqueue whose rings and buffers lie from addr on."""

    def __init__(self, device, index, addr, size=8):
        self.device, self.bus, self.index, self.size = device, device.bus, index, size
        self.desc, self.avail, self.used = addr, addr + 0x400, addr + 0x800
        self.next_buffer = self.first_buffer = addr + 0x1000
        self.seen = self.added = 0
        device.write(QUEUE_SEL, index)
        assert device.read(QUEUE_NUM_MAX) >= size
        device.write(QUEUE_NUM, size)
        for register, ring in ((QUEUE_DESC, self.desc), (QUEUE_DRIVER, self.avail), (QUEUE_DEVICE, self.used)):
            device.write(register, ring & 0xffffffff)
            device.write(register + 4, ring >> 32)
        device.write(QUEUE_READY, 1)

    def moved_to(self, device):
        """The same queue as the device that it migrated to sees it."""
        other = object.__new__(Queue)
        other.__dict__.update(self.__dict__, device=device, bus=device.bus)
        return other

    def add(self, *parts):
        """Offer a chain; bytes are read by the device, a number is the size of what it writes.

        Returns the addresses of the parts.
        """
        addresses, at = [], self.first_buffer
        for number, part in enumerate(parts):
            writes = isinstance(part, int)
            length = part if writes else len(part)
            if not writes:
                self.bus.write(at, part)
            flags = (_DESC_WRITE if writes else 0) | (_DESC_NEXT if number + 1 < len(parts) else 0)
            self.bus.write(self.desc + 16 * number, struct.pack('<QIHH', at, length, flags, number + 1))
            addresses.append(at)
            at += (length + 63) & ~63
        self.bus.store(self.avail + 4 + 2 * (self.added % self.size), 0, 2)
        self.added += 1
        self.bus.store(self.avail + 2, self.added & 0xffff, 2)
        return addresses

    def kick(self):
        self.device.write(QUEUE_NOTIFY, self.index)

    def done(self):
        """Whether the device has used the chain."""
        return self.bus.load(self.used + 2, 2) == self.added & 0xffff

    def wait(self, test):
        """Wait for the chain to be used; returns how many bytes the device says it wrote."""
        test.wait_for(self.done, 'queue %d of the device' % self.index)
        return self.bus.load(self.used + 4 + 8 * ((self.added - 1) % self.size) + 4, 4)

    def request(self, test, *parts):
        """Offer a chain and wait; returns what was written into its parts for the device."""
        addresses = self.add(*parts)
        self.kick()
        self.wait(test)
        return [self.bus.read(addr, part) for addr, part in zip(addresses, parts) if isinstance(part, int)]


class Device:
    """A device on one of the transports."""

    def __init__(self, bus, slot):
        self.bus, self.base = bus, BASE + slot * STEP

    @classmethod
    def find(cls, bus, device_id, nth=0):
        """The nth device with that id; like the machine, look from the eighth transport down."""
        for slot in list(range(7, -1, -1)) + list(range(8, COUNT)):
            device = cls(bus, slot)
            if device.read(DEVICE_ID) == device_id:
                if not nth:
                    return device
                nth -= 1
        raise AssertionError('no virtio device %d' % device_id)

    def read(self, register, size=4):
        return self.bus.load(self.base + register, size)

    def write(self, register, value, size=4):
        self.bus.store(self.base + register, value, size)

    def config(self, offset, size):
        return self.read(CONFIG + offset, size)

    def features(self):
        bits = 0
        for half in (0, 1):
            self.write(DEVICE_FEATURES_SEL, half)
            bits |= self.read(DEVICE_FEATURES) << 32 * half
        return bits

    def negotiate(self, wanted):
        """From reset to FEATURES_OK; returns what was agreed on."""
        agreed = self.features() & (wanted | F_VERSION_1)
        self.write(STATUS, 0)
        self.write(STATUS, ACKNOWLEDGE)
        self.write(STATUS, ACKNOWLEDGE | DRIVER)
        for half in (0, 1):
            self.write(DRIVER_FEATURES_SEL, half)
            self.write(DRIVER_FEATURES, agreed >> 32 * half & 0xffffffff)
        self.write(STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK)
        assert self.read(STATUS) & FEATURES_OK, 'the device refuses features 0x%x' % agreed
        return agreed

    def go(self):
        self.write(STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK)

    def interrupt(self):
        """Take the pending interrupt reasons: bit 0 a queue, bit 1 the configuration."""
        pending = self.read(INTERRUPT_STATUS)
        self.write(INTERRUPT_ACK, pending)
        return pending
