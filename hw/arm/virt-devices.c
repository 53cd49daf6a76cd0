/* hw/arm/virt-devices.c - the machine "virt": devices on the platform's own bus. */
#include "hw/arm/virt.h"

#include "chardev/char.h"
#include "hw/arm/fdt.h"
#include "hw/char/pl011.h"
#include "hw/gpio/pl061.h"
#include "hw/nvram/fw_cfg.h"
#include "hw/primecell.h"
#include "hw/rtc/pl031.h"
#include "hw/virtio/virtio-mmio.h"

static int add_fw_cfg(struct virt *v, GError **err)
{
	struct device *dev = device_create(&v->m, FW_CFG_MEM_TYPE, NULL, err);

	if (!dev)
		return -EINVAL;
	if (device_set_u64(dev, "base", v->map[VIRT_FW_CFG].base, err) ||
	    device_realize(dev, NULL, err)) {
		device_destroy(dev);
		return -EINVAL;
	}
	v->fw_cfg = dev;
	return 0;
}

static void fw_cfg_fdt(struct virt *v, void *fdt)
{
	const struct virt_range *r = &v->map[VIRT_FW_CFG];
	g_autofree char *path = g_strdup_printf("/fw-cfg@%" PRIx64, r->base);

	dt_node(fdt, path);
	dt_set_string(fdt, path, "compatible", "qemu,fw-cfg-mmio");
	dt_set_reg(fdt, path, "reg", r->base, r->size);
	dt_set_empty(fdt, path, "dma-coherent");
}

/* Devices take the transports from the last one downwards. */
static int add_transports(struct virt *v, GError **err)
{
	for (unsigned i = 0; i < VIRT_TRANSPORTS; i++) {
		struct device *dev =
			virtio_mmio_create(&v->m, v->map[VIRT_MMIO].base + i * VIRTIO_MMIO_SIZE,
					   VIRT_SPI_MMIO + i, err);

		if (!dev)
			return -EINVAL;
		dev->bus->rank = VIRT_TRANSPORTS - 1 - i;
		v->transports[i] = dev;
	}
	return 0;
}

/* The last node first: libfdt puts each before the others, and guests number them in order. */
static void transports_fdt(struct virt *v, void *fdt)
{
	for (unsigned i = VIRT_TRANSPORTS; i-- > 0;) {
		u64 base = v->map[VIRT_MMIO].base + i * VIRTIO_MMIO_SIZE;
		g_autofree char *path = g_strdup_printf("/virtio_mmio@%" PRIx64, base);

		dt_node(fdt, path);
		dt_set_string(fdt, path, "compatible", "virtio,mmio");
		dt_set_reg(fdt, path, "reg", base, VIRTIO_MMIO_SIZE);
		dt_set_cells(fdt, path, "interrupts", DT_SPI, VIRT_SPI_MMIO + i, DT_EDGE);
		dt_set_empty(fdt, path, "dma-coherent");
	}
}

#define KEY_POWER 116 /* as input events number it */

/* A PrimeCell with its page and its line. */
static struct device *add_primecell(struct virt *v, const char *type, enum virt_region at,
				    enum virt_spi spi, struct chardev *chardev, GError **err)
{
	struct device *dev = device_create(&v->m, type, NULL, err);

	if (!dev)
		return NULL;
	if (device_set_u64(dev, "base", v->map[at].base, err) ||
	    device_set_u64(dev, "irq", spi, err) ||
	    (chardev && device_set(dev, "chardev", chardev_id(chardev), err)) ||
	    device_realize(dev, NULL, err)) {
		device_destroy(dev);
		return NULL;
	}
	return dev;
}

/* The second UART is there only for a second -serial: some firmware takes the last one it finds. */
static bool has_uart1(const struct virt *v)
{
	return v->m.opt.serial[1];
}

static int add_uarts(struct virt *v, GError **err)
{
	struct chardev *const *serial = v->m.opt.serial;

	if (!add_primecell(v, PL011_TYPE, VIRT_UART, VIRT_SPI_UART, serial[0], err))
		return -EINVAL;
	if (!has_uart1(v))
		return 0;
	return add_primecell(v, PL011_TYPE, VIRT_UART1, VIRT_SPI_UART1, serial[1], err) ? 0
											: -EINVAL;
}

static int add_power_key(struct virt *v, GError **err)
{
	struct device *gpio = add_primecell(v, PL061_TYPE, VIRT_GPIO, VIRT_SPI_GPIO, NULL, err);

	if (!gpio)
		return -EINVAL;
	v->power_key = device_create(&v->m, GPIO_KEY_TYPE, NULL, err);
	if (!v->power_key || device_realize(v->power_key, NULL, err))
		return -EINVAL;
	pl061_connect(gpio, gpio_key_output(v->power_key), VIRT_POWER_KEY_PIN);
	return 0;
}

/* Node of a PrimeCell; @compatible begins with "arm,". Return: its path, to be freed. */
static char *primecell_fdt(struct virt *v, void *fdt, const char *compatible, enum virt_region at,
			   enum virt_spi spi)
{
	const char *const names[] = { compatible, "arm,primecell", NULL };
	char *path = g_strdup_printf("/%s@%" PRIx64, compatible + strlen("arm,"), v->map[at].base);

	dt_node(fdt, path);
	dt_set_strings(fdt, path, "compatible", names);
	dt_set_reg(fdt, path, "reg", v->map[at].base, PRIMECELL_SIZE);
	dt_set_cells(fdt, path, "interrupts", DT_SPI, spi, DT_LEVEL_HIGH);
	dt_set_cells(fdt, path, "clocks", VIRT_PHANDLE_CLOCK);
	dt_set_string(fdt, path, "clock-names", "apb_pclk");
	return path;
}

static char *uart_fdt(struct virt *v, void *fdt, enum virt_region at, enum virt_spi spi)
{
	static const char *const clocks[] = { "uartclk", "apb_pclk", NULL };
	char *path = primecell_fdt(v, fdt, "arm,pl011", at, spi);

	dt_set_cells(fdt, path, "clocks", VIRT_PHANDLE_CLOCK, VIRT_PHANDLE_CLOCK);
	dt_set_strings(fdt, path, "clock-names", clocks);
	return path;
}

static void uarts_fdt(struct virt *v, void *fdt)
{
	g_autofree char *uart1 = has_uart1(v) ? uart_fdt(v, fdt, VIRT_UART1, VIRT_SPI_UART1) : NULL;
	g_autofree char *uart = uart_fdt(v, fdt, VIRT_UART, VIRT_SPI_UART);

	dt_node(fdt, "/aliases");
	if (uart1)
		dt_set_string(fdt, "/aliases", "serial1", uart1);
	dt_set_string(fdt, "/aliases", "serial0", uart);
	dt_set_string(fdt, "/chosen", "stdout-path", uart);
}

static void power_key_fdt(struct virt *v, void *fdt)
{
	g_autofree char *gpio = primecell_fdt(v, fdt, "arm,pl061", VIRT_GPIO, VIRT_SPI_GPIO);

	dt_set_cells(fdt, gpio, "#gpio-cells", 2);
	dt_set_empty(fdt, gpio, "gpio-controller");
	dt_set_cells(fdt, gpio, "phandle", VIRT_PHANDLE_GPIO);
	dt_node(fdt, "/gpio-keys");
	dt_set_string(fdt, "/gpio-keys", "compatible", "gpio-keys");
	dt_node(fdt, "/gpio-keys/poweroff");
	dt_set_string(fdt, "/gpio-keys/poweroff", "label", "GPIO Key Poweroff");
	dt_set_cells(fdt, "/gpio-keys/poweroff", "linux,code", KEY_POWER);
	dt_set_cells(fdt, "/gpio-keys/poweroff", "gpios", VIRT_PHANDLE_GPIO, VIRT_POWER_KEY_PIN, 0);
}

int virt_devices_create(struct virt *v, GError **err)
{
	if (add_uarts(v, err) || !add_primecell(v, PL031_TYPE, VIRT_RTC, VIRT_SPI_RTC, NULL, err) ||
	    add_power_key(v, err) || add_fw_cfg(v, err) || add_transports(v, err))
		return -EINVAL;
	return 0;
}

void virt_devices_fdt(struct virt *v, void *fdt)
{
	transports_fdt(v, fdt);
	fw_cfg_fdt(v, fdt);
	power_key_fdt(v, fdt);
	g_free(primecell_fdt(v, fdt, "arm,pl031", VIRT_RTC, VIRT_SPI_RTC));
	uarts_fdt(v, fdt);
}

bool virt_devices_powerdown(struct virt *v)
{
	gpio_key_press(v->power_key);
	return true;
}
