/* system/qmp/screen.c - commands about what the guest shows. */
#include "qapi/gen/screen.h"

#include "system/emulator.h"
#include "ui/display.h"
#include "ui/screenshot.h"
#include "util/error.h"
#include "util/lock.h"

void qmp_screendump(struct machine *m, const struct qapi_screendump_args *args, GError **err)
{
	bool png = args->has_format && args->format == QAPI_IMAGE_FORMAT_PNG;
	struct surface *s;

	if (args->has_head && (!args->device || args->head < 0 || args->head > INT32_MAX)) {
		error_set(err,
			  "head=%" PRId64 ": it is the number of an output of 'device', which "
			  "must be given",
			  args->head);
		return;
	}
	s = display_snapshot(emulator_of(m)->host.display, args->device, args->head, err);
	if (!s)
		return;
	machine_unlock();
	screenshot_write(s, png ? SCREENSHOT_PNG : SCREENSHOT_PPM, args->filename, err);
	machine_lock();
	surface_unref(s);
}
