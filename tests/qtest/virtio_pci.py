"""Driver of a virtio device on PCI, as far as tests need it (Virtio 1.2, 4.1)."""

import virtio_mmio as mmio

ECAM = 0x4010000000
MEM32, MEM64, IO = 0x10000000, 0x8000000000, 0x3eff0000

COMMAND, STATUS, BAR0, CAPABILITIES = 0x04, 0x06, 0x10, 0x34
COMMAND_IO, COMMAND_MEMORY, COMMAND_MASTER = 1, 2, 4
CAP_VENDOR, CAP_MSIX, CAP_EXPRESS = 0x09, 0x11, 0x10
NO_VECTOR = 0xffff

# Parts of the modern BAR; registers of the common one.
COMMON, ISR, DEVICE, NOTIFY = 0x0000, 0x1000, 0x2000, 0x3000
_REGISTERS = {
    mmio.DEVICE_FEATURES_SEL: (0x00, 4), mmio.DEVICE_FEATURES: (0x04, 4),
    mmio.DRIVER_FEATURES_SEL: (0x08, 4), mmio.DRIVER_FEATURES: (0x0c, 4),
    mmio.STATUS: (0x14, 1), mmio.QUEUE_SEL: (0x16, 2), mmio.QUEUE_NUM: (0x18, 2),
    mmio.QUEUE_NUM_MAX: (0x18, 2), mmio.QUEUE_READY: (0x1c, 2),
    mmio.QUEUE_DESC: (0x20, 4), mmio.QUEUE_DESC + 4: (0x24, 4),
    mmio.QUEUE_DRIVER: (0x28, 4), mmio.QUEUE_DRIVER + 4: (0x2c, 4),
    mmio.QUEUE_DEVICE: (0x30, 4), mmio.QUEUE_DEVICE + 4: (0x34, 4),
}


class Function:
    """Configuration space of one function."""

    def __init__(self, bus, slot, function=0, number=0):
        self.bus = bus
        self.space = ECAM + (number << 20 | slot << 15 | function << 12)

    def read(self, offset, size=4):
        return self.bus.load(self.space + offset, size)

    def write(self, offset, value, size=4):
        self.bus.store(self.space + offset, value, size)

    def bar_size(self, number):
        """What a guest finds by writing ones; the register is left as it was."""
        old = self.read(BAR0 + 4 * number)
        self.write(BAR0 + 4 * number, 0xffffffff)
        mask = self.read(BAR0 + 4 * number)
        self.write(BAR0 + 4 * number, old)
        return -(mask & (~3 if mask & 1 else ~15)) & 0xffffffff if mask else 0

    def capabilities(self):
        """(id, offset) of each."""
        at, found = self.read(CAPABILITIES, 1), []
        while at:
            found.append((self.read(at, 1), at))
            at = self.read(at + 1, 1)
        return found

    def capability(self, wanted):
        return dict(self.capabilities()).get(wanted)


class Device(mmio.Device):
    """A virtio device that is enabled, its modern BAR at base; speaks mmio.Device's names."""

    def __init__(self, bus, function, base=MEM64, msix=None):
        self.bus, self.base, self.pci = bus, base, function
        function.write(BAR0 + 16, base & 0xffffffff)
        function.write(BAR0 + 20, base >> 32)
        if msix:
            function.write(BAR0 + 4, msix)
        function.write(COMMAND, COMMAND_MEMORY | COMMAND_MASTER, 2)

    def moved_to(self, bus, function):
        """The same device after a migration: nothing is written."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, bus=bus, pci=function)
        return other

    def read(self, register, size=4):
        offset, size = _REGISTERS[register]
        return self.bus.load(self.base + offset, size)

    def write(self, register, value, size=4):
        if register == mmio.QUEUE_NOTIFY:
            self.bus.store(self.base + NOTIFY + 4 * value, value, 2)
            return
        offset, size = _REGISTERS[register]
        self.bus.store(self.base + offset, value, size)

    def config(self, offset, size):
        return self.bus.load(self.base + DEVICE + offset, size)

    def interrupt(self):
        return self.bus.load(self.base + ISR, 1)

    def use_vectors(self, msix, table):
        """Switch MSI-X on; table: (address, data) of each vector."""
        for number, (addr, data) in enumerate(table):
            self.bus.store(msix + 16 * number, addr)
            self.bus.store(msix + 16 * number + 4, addr >> 32)
            self.bus.store(msix + 16 * number + 8, data)
            self.bus.store(msix + 16 * number + 12, 0)
        at = self.pci.capability(CAP_MSIX)
        self.pci.write(at + 2, 0x8000, 2)
