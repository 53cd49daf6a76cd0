/* gic.c - test guests on arm64: the GICv3 made ready (Arm IHI 0069H, chapter 12). */
#include "arm.h"

void gic_init_dist(void)
{
	*reg32(GICD) = 0x3; /* both groups; affinity routing is always on */
	for (unsigned w = 1; w < 8; w++) {
		*reg32(GICD + 0x180 + 4 * w) = ~0u; /* disabled */
		*reg32(GICD + 0x80 + 4 * w) = ~0u;  /* group 1 */
	}
	for (unsigned i = 32; i < 256; i += 4)
		*reg32(GICD + 0x400 + i) = 0xa0a0a0a0;
}

void gic_init_cpu(unsigned cpu)
{
	*reg32(GICR + cpu * 0x20000UL + 0x14) = 0; /* GICR_WAKER: awake */
	while (*reg32(GICR + cpu * 0x20000UL + 0x14) & 4)
		arch_relax();
	*reg32(gicr_sgi(cpu) + 0x80) = ~0u;
	for (unsigned i = 0; i < 32; i += 4)
		*reg32(gicr_sgi(cpu) + 0x400 + i) = 0xa0a0a0a0;
	*reg32(gicr_sgi(cpu) + 0x100) = 0xffff; /* SGIs on, PPIs as they are */
	msr(ICC_PMR, 0xf0);
	msr(ICC_BPR1, 0);
	msr(ICC_CTLR, 0);
	msr(ICC_IGRPEN1, 1);
}
