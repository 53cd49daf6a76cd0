/*
 * hw/pci/pcie-slot.c - the slot of a root port: presence, power, button, and their interrupt.
 *
 * Source: PCI Express Base 5.0, 6.7 (hot plug) and 7.5.3.9 to 7.5.3.11. A device that is added
 * shows itself by presence and by the button; one that is to go is asked for by the button, and
 * goes when the guest switches the slot's power and its indicator off.
 */
#include "hw/pci/pcie-root-port.h"

#include "hw/machine.h"
#include "util/error.h"
#include "util/main-loop.h"

#define CONTROL_WRITABLE                                                                           \
	(PCI_EXP_SLTCTL_ABPE | PCI_EXP_SLTCTL_PDCE | PCI_EXP_SLTCTL_CCIE | PCI_EXP_SLTCTL_HPIE |   \
	 PCI_EXP_SLTCTL_AIC | PCI_EXP_SLTCTL_PIC | PCI_EXP_SLTCTL_PCC | PCI_EXP_SLTCTL_DLLSCE)
/* What can raise the interrupt; each has its enable bit at the same place of the control. */
#define EVENTS     (PCI_EXP_SLTSTA_ABP | PCI_EXP_SLTSTA_PDC | PCI_EXP_SLTSTA_CC)
#define LINK_16GT  4
#define LINK_WIDTH 32

static u8 *express(struct root_port *p)
{
	return p->pci.config + p->pci.exp_cap;
}

static u16 control_of(struct root_port *p)
{
	return pci_get16(express(p) + PCI_EXP_SLTCTL);
}

static struct pci_device *occupant(const struct root_port *p)
{
	for (unsigned i = 0; i < 8; i++)
		if (p->bus.at[i])
			return p->bus.at[i];
	return NULL;
}

/* Whether something sits in the slot, and so whether the link is up. */
static void update_presence(struct root_port *p)
{
	u8 *c = express(p);
	bool there = occupant(p);
	u16 link = PCI_EXP_LNKSTA_CLS_2_5GB | PCI_EXP_LNKSTA_NLW_X1;
	u16 status = pci_get16(c + PCI_EXP_SLTSTA) & ~PCI_EXP_SLTSTA_PDS;

	pci_set16(c + PCI_EXP_SLTSTA, there ? status | PCI_EXP_SLTSTA_PDS : status);
	pci_set16(c + PCI_EXP_LNKSTA, there ? link | PCI_EXP_LNKSTA_DLLLA : link);
}

static bool wants_interrupt(struct root_port *p)
{
	u16 control = control_of(p);

	return control & PCI_EXP_SLTCTL_HPIE &&
	       control & pci_get16(express(p) + PCI_EXP_SLTSTA) & EVENTS;
}

/* A message is sent when the first reason comes up; the pin is held while there is one. */
static void update_interrupt(struct root_port *p)
{
	bool wanted = wants_interrupt(p), first = wanted && !p->slot.notified;

	p->slot.notified = wanted;
	if (!msix_enabled(&p->pci))
		pci_set_irq(&p->pci, wanted);
	else if (first)
		msix_notify(&p->pci, 0);
}

static void raise_event(struct root_port *p, u16 events)
{
	u8 *status = express(p) + PCI_EXP_SLTSTA;

	pci_set16(status, pci_get16(status) | events);
	update_interrupt(p);
}

/* ---- devices ---- */

static bool is_off(u16 control)
{
	return control & PCI_EXP_SLTCTL_PCC &&
	       (control & PCI_EXP_SLTCTL_PIC) == PCI_EXP_SLTCTL_PWR_IND_OFF;
}

/* Functions go from the last to the first. */
static void remove_all(struct root_port *p)
{
	for (unsigned i = 8; i-- > 0;)
		if (p->bus.at[i])
			device_unplug(&p->bus.at[i]->dev);
	p->slot.leaving = false;
	update_presence(p);
	raise_event(p, PCI_EXP_SLTSTA_PDC);
}

static void eject(void *opaque)
{
	struct root_port *p = opaque;

	p->slot.ejecting = false;
	if (occupant(p))
		remove_all(p);
}

void pcie_slot_plugged(struct device *port, struct device *child)
{
	struct root_port *p = root_port_of((struct pci_device *)port);

	/* Functions that come before the first are shown with it. */
	if (PCI_FUNCTION_OF(((struct pci_device *)child)->devfn))
		return;
	update_presence(p);
	raise_event(p, PCI_EXP_SLTSTA_PDC | PCI_EXP_SLTSTA_ABP);
}

int pcie_slot_unplug_request(struct device *port, struct device *child, GError **err)
{
	struct root_port *p = root_port_of((struct pci_device *)port);
	const char *name = child->id ?: child->type->name;
	u16 control = control_of(p);

	if (p->slot.leaving) {
		error_set(err, "Device %s is already in the process of unplug", name);
		return -EBUSY;
	}
	if ((control & PCI_EXP_SLTCTL_PIC) == PCI_EXP_SLTCTL_PWR_IND_BLINK) {
		error_set(err,
			  "Hot-unplug of %s failed: guest is busy with the slot (its power "
			  "indicator blinks), try again later",
			  name);
		return -EBUSY;
	}
	/* Nothing to ask if the guest does not use it. */
	if (is_off(control) || !p->bus.at[0]) {
		remove_all(p);
		return 0;
	}
	p->slot.leaving = true;
	raise_event(p, PCI_EXP_SLTSTA_ABP);
	return 0;
}

/* ---- registers ---- */

void pcie_slot_init(struct root_port *p)
{
	struct pci_device *d = &p->pci;
	u8 *c = express(p), *w = d->wmask + d->exp_cap;

	pci_set16(c + PCI_EXP_FLAGS, pci_get16(c + PCI_EXP_FLAGS) | PCI_EXP_FLAGS_SLOT);
	pci_set32(c + PCI_EXP_LNKCAP, (u32)p->opt_port << 24 | PCI_EXP_LNKCAP_DLLLARC |
					      PCI_EXP_LNKCAP_LBNC | 1 << 10 | LINK_WIDTH << 4 |
					      LINK_16GT);
	pci_set32(c + PCI_EXP_LNKCAP2, 0x1e); /* 2.5 to 16 GT/s */
	pci_set16(c + PCI_EXP_LNKCTL2, LINK_16GT);
	pci_set32(c + PCI_EXP_SLTCAP,
		  (u32)p->opt_slot << 19 | PCI_EXP_SLTCAP_ABP | PCI_EXP_SLTCAP_PCP |
			  PCI_EXP_SLTCAP_AIP | PCI_EXP_SLTCAP_PIP | PCI_EXP_SLTCAP_EIP |
			  (p->opt_hotplug ? PCI_EXP_SLTCAP_HPS | PCI_EXP_SLTCAP_HPC : 0));
	pci_set16(w + PCI_EXP_SLTCTL, CONTROL_WRITABLE);
	pci_set16(d->w1cmask + d->exp_cap + PCI_EXP_SLTSTA,
		  PCI_EXP_SLTSTA_ABP | PCI_EXP_SLTSTA_PDC | PCI_EXP_SLTSTA_CC |
			  PCI_EXP_SLTSTA_DLLSC);
	pci_set16(w + PCI_EXP_RTCTL, PCI_EXP_RTCTL_SECEE | PCI_EXP_RTCTL_SENFEE |
					     PCI_EXP_RTCTL_SEFEE | PCI_EXP_RTCTL_PMEIE);
	pci_set32(c + PCI_EXP_DEVCAP2, 0x300020); /* prefixes; forwards to other ports */
	pci_set16(w + PCI_EXP_DEVCTL2, 0x8020);
}

void pcie_slot_reset(struct root_port *p)
{
	u8 *c = express(p);

	pci_set16(c + PCI_EXP_SLTCTL,
		  PCI_EXP_SLTCTL_ATTN_IND_OFF |
			  (occupant(p) ? PCI_EXP_SLTCTL_PWR_IND_ON
				       : PCI_EXP_SLTCTL_PWR_IND_OFF | PCI_EXP_SLTCTL_PCC));
	pci_set16(c + PCI_EXP_SLTSTA, 0);
	update_presence(p);
	p->slot.leaving = p->slot.notified = false;
	p->slot.control = control_of(p);
}

void pcie_slot_loaded(struct root_port *p)
{
	p->slot.leaving = false;
	p->slot.notified = wants_interrupt(p);
	p->slot.control = control_of(p);
}

/* Devices come and go behind the port without telling it. */
void pcie_slot_config_read(struct pci_device *d, u16 off, unsigned len)
{
	if (off + len > d->exp_cap + PCI_EXP_LNKSTA && off < d->exp_cap + PCI_EXP_SLTSTA + 2)
		update_presence(root_port_of(d));
}

/* Every command to the slot is done at once, but removing takes the main thread. */
void pcie_slot_config_written(struct pci_device *d, u16 off, unsigned len)
{
	struct root_port *p = root_port_of(d);
	unsigned at = d->exp_cap + PCI_EXP_SLTCTL;
	u16 old = p->slot.control, control = control_of(p);

	if (off >= at + 4 || off + len <= at)
		return;
	p->slot.control = control;
	if (off < at + 2)
		raise_event(p, PCI_EXP_SLTSTA_CC);
	else
		update_interrupt(p);
	if (!is_off(control) || is_off(old) || !occupant(p) || p->slot.ejecting)
		return;
	p->slot.ejecting = true;
	main_loop_call(eject, p);
}
