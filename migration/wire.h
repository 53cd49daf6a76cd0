/*
 * migration/wire.h - constants of the migration stream.
 *
 * Values as QEMU's streams carry them (observed on the wire, versions 7.2 and 11.1). Names that
 * begin with OWN are private: they are sent only to a peer that announced itself (peer.h).
 */
#ifndef MIGRATION_WIRE_H
#define MIGRATION_WIRE_H

#include "util/base.h"

#define STREAM_MAGIC   0x5145564du
#define STREAM_VERSION 3u

enum element_type {
	ELEM_EOF = 0x00,
	ELEM_SECTION_START = 0x01,
	ELEM_SECTION_PART = 0x02,
	ELEM_SECTION_END = 0x03,
	ELEM_SECTION_FULL = 0x04,
	ELEM_SUBSECTION = 0x05,
	ELEM_VMDESCRIPTION = 0x06,
	ELEM_CONFIGURATION = 0x07,
	ELEM_COMMAND = 0x08,
	ELEM_SECTION_FOOTER = 0x7e,
};

enum stream_command {
	CMD_OPEN_RETURN_PATH = 1,
	CMD_PING = 2,
	CMD_SWITCHOVER_START = 11,
	CMD_OWN_VERIFY = 0x5401,       /* hash all RAM blocks and report them */
	CMD_OWN_VERIFY_BLOCK = 0x5402, /* cstr8 block: report the hash of each page */
	CMD_OWN_ERROR = 0x5403,        /* text: why the sender gives up */
};

enum return_message {
	RP_SHUT = 1,
	RP_PONG = 2,
	RP_SWITCHOVER_ACK = 7,
	RP_OWN_HELLO = 0x5401,       /* piece of the receiver's description, JSON text */
	RP_OWN_ERROR = 0x5402,       /* text: why the receiver failed */
	RP_OWN_BLOCK_HASH = 0x5403,  /* u64 pages, u64 hash, cstr8 block */
	RP_OWN_PAGE_HASHES = 0x5404, /* u64 first page, u64 hash per page */
	RP_OWN_VERIFY_DONE = 0x5405,
};

#define PING_SETUP 1u
#define PING_OWN   0x54444d31u /* asks a receiver of our kind to send OWN_HELLO before the PONG */

#define RAM_SECTION_VERSION 4
#define RAM_SECTION_ID      1u /* devices are numbered from 2 on */

enum ram_flag {
	RAM_FLAG_ZERO = 0x002,
	RAM_FLAG_MEM_SIZE = 0x004,
	RAM_FLAG_PAGE = 0x008,
	RAM_FLAG_EOS = 0x010,
	RAM_FLAG_CONTINUE = 0x020,
	RAM_FLAG_XBZRLE = 0x040,
	RAM_FLAG_OWN_RUN = 0x400,    /* be32 n follows, then n pages as they are */
	RAM_FLAG_OWN_ZEROES = 0x800, /* be32 n follows: n zero pages */
};
#define RAM_FLAG_MASK   0xfffu
#define XBZRLE_ENCODING 0x01

#endif
