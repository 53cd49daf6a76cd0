/* system/qmp/job.c - commands about jobs, of which there are none. */
#include "qapi/gen/job.h"

GPtrArray *qmp_query_jobs(struct machine *m, GError **err)
{
	return qapi_job_info_list_new();
}

GPtrArray *qmp_query_block_jobs(struct machine *m, GError **err)
{
	return qapi_block_job_info_list_new();
}
