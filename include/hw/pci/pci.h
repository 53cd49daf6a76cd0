/*
 * hw/pci/pci.h - PCI and PCI Express devices: configuration space, BARs, interrupts, buses.
 *
 * A device embeds struct pci_device first and sits on a bus of type PCI_BUS_TYPE. Source: PCI Local
 * Bus Specification 3.0, PCI Express Base Specification 5.0. All functions: machine lock held.
 */
#ifndef HW_PCI_PCI_H
#define HW_PCI_PCI_H

#include "hw/device.h"
#include "hw/irq.h"
#include "memory/address-space.h"
#include "migration/state.h"

#define PCI_BUS_TYPE      "PCI"
#define PCI_CONFIG_BYTES  256
#define PCIE_CONFIG_BYTES 4096
#define PCI_BAR_COUNT     6
#define PCI_PINS          4

#define PCI_DEVFN_OF(slot, function) ((slot) << 3 | (function))
#define PCI_SLOT_OF(devfn)           ((devfn) >> 3)
#define PCI_FUNCTION_OF(devfn)       ((devfn)&7)

struct pci_bus;
struct pci_device;
struct msix;

/* What every device of a kind has in its header. */
struct pci_ids {
	u16 vendor, device;
	u16 subsystem_vendor, subsystem; /* 0: none, as in bridges */
	u32 class_code;                  /* class << 16 | subclass << 8 | interface */
	u8 revision;
};

/* Bits of a base address register. */
enum pci_bar_flags {
	PCI_BAR_MEM32 = 0x0,
	PCI_BAR_IO = 0x1,
	PCI_BAR_MEM64 = 0x4,
	PCI_BAR_PREF = 0x8
};

struct pci_bar {
	u64 size;           /* bytes, a power of two; 0: there is none */
	u8 flags;           /* enum pci_bar_flags */
	struct mapping map; /* while it is decoded; its base is the CPU's address */
};

struct pci_device {
	struct device dev;
	struct pci_bus *bus;
	u8 devfn;
	bool bridge;
	u16 config_bytes;                     /* PCI_CONFIG_BYTES or PCIE_CONFIG_BYTES */
	u8 *config, *wmask, *w1cmask, *cmask; /* values; what the guest may write; what it clears
						 by writing ones; what must agree in a migration */
	struct pci_bar bars[PCI_BAR_COUNT];
	struct irq irq;
	bool irq_level;    /* what the device wants; the command register may hold it back */
	u16 exp_cap;       /* offset of the PCI Express capability; 0: none */
	u16 next_cap;      /* where the next capability goes */
	struct msix *msix; /* NULL: none */
	/* config_written() - after a write of the guest; NULL: nothing to do. */
	void (*config_written)(struct pci_device *d, u16 off, unsigned len);
	/* config_read() - before a read of the guest; NULL: nothing to do. */
	void (*config_read)(struct pci_device *d, u16 off, unsigned len);

	/* Properties. */
	char *opt_addr;
	bool opt_multifunction;
	bool opt_ext_tag;
};

/* Properties of every device that a user may plug into a PCI bus. */
#define PCI_PROPS(s)                                                                               \
	PROP(s, pci.opt_addr, "addr", STR, NULL,                                                   \
	     "slot and function as hexadecimal numbers, such as 02.0; default: a free slot"),      \
		PROP(s, pci.opt_multifunction, "multifunction", BOOL, "off",                       \
		     "function 0: others follow in this slot"),                                    \
		PROP(s, pci.opt_ext_tag, "x-pcie-ext-tag", BOOL, "on",                             \
		     "PCI Express: tell that tags may have 8 bits")

/*
 * pci_device_init() - first step of a device's realize(): take a place on dev.on_bus, make the
 * header. The capability list begins at 0x40.
 * @config_bytes: PCIE_CONFIG_BYTES gives the device an extended configuration space.
 *
 * Return: 0, or -errno with @err naming the address; nothing is left behind.
 */
int pci_device_init(struct pci_device *d, const struct pci_ids *ids, u16 config_bytes,
		    GError **err);

/* pci_device_finish() - BARs, MSI-X, place on the bus. */
void pci_device_finish(struct pci_device *d);

/* pci_device_reset() - header, BARs, interrupts as after power-on. */
void pci_device_reset(struct pci_device *d);

/*
 * pci_add_bar() - offer a range.
 * @size: bytes, a power of two of at least 16 (memory) or 4 (I/O).
 * @ops:  called with offsets from the start of the range.
 */
void pci_add_bar(struct pci_device *d, unsigned n, u8 flags, u64 size, const struct mmio_ops *ops,
		 void *opaque);

/* pci_add_capability() - append to the list. @id: PCI_CAP_ID_*. Return: its offset. */
u16 pci_add_capability(struct pci_device *d, u8 id, u16 bytes);

/* pci_add_express() - PCI Express capability of 60 bytes. @port_type: PCI_EXP_TYPE_*. */
void pci_add_express(struct pci_device *d, u8 port_type);

/* pci_use_pin() - the device has interrupt pin INTA. pci_set_irq() - drive it. */
void pci_use_pin(struct pci_device *d);
void pci_set_irq(struct pci_device *d, bool level);

/* pci_requester_id() - bus number and devfn, as a message carries them. */
u16 pci_requester_id(const struct pci_device *d);

/* pci_bus_is_below_port() - whether a bus of type PCI_BUS_TYPE is not the root one. */
bool pci_bus_is_below_port(const struct bus *bus);

/* pci_path() - "0000:00:01.0", with ":SLOT.FUNCTION" for each bridge on the way; the name of the
 * device in a migration stream. For device_type.state_path and .bus_path. Free with g_free(). */
char *pci_path(const struct device *dev);

/* Little-endian fields of the configuration space. */
static inline u16 pci_get16(const u8 *p)
{
	return p[0] | p[1] << 8;
}

static inline u32 pci_get32(const u8 *p)
{
	return pci_get16(p) | (u32)pci_get16(p + 2) << 16;
}

static inline void pci_set16(u8 *p, u16 v)
{
	p[0] = v;
	p[1] = v >> 8;
}

static inline void pci_set32(u8 *p, u32 v)
{
	pci_set16(p, v);
	pci_set16(p + 2, v >> 16);
}

/* ---- MSI-X ---- */

/*
 * msix_init() - capability, and a BAR of its own for table and pending bits.
 * @vectors: 1 to 2048.
 */
void msix_init(struct pci_device *d, unsigned vectors, unsigned bar);
bool msix_enabled(const struct pci_device *d);

/* msix_notify() - send the message of a vector, or remember it while masked. */
void msix_notify(struct pci_device *d, unsigned vector);

/* Table and pending bits, as they lie in a stream: without header. */
void msix_save(struct pci_device *d, struct state_writer *w);
void msix_load(struct pci_device *d, struct state_reader *r);

/* ---- Migration ---- */

/* Header of a device's section: version, configuration, interrupt pin. Of a struct pci_device. */
extern const struct state_desc pci_device_state;

/* msix_state_codec - table and pending bits as one field of a section; size of struct pci_device.
 */
extern const struct state_codec msix_state_codec;

#endif
