/*
 * tracking.pml - the dirty tracking protocol: no write is ever lost.
 *
 * A guest vCPU and a device write pages while a taker moves the machine: it syncs, takes bits,
 * re-arms the pages, copies their content, and at the end stops the vCPU, syncs once more and
 * sends the rest. In the end every page's copy must be its last content.
 *
 * MODE chooses the source of the bits:
 *   LEGACY   the log's GET re-arms by itself            (KVM dirty log, caps 0)
 *   MANUAL   GET only reads, CLEAR re-arms              (caps 1)
 *   INITSET  as MANUAL; starts unarmed with all bits set (caps 3)
 *   RING     faults push into a ring; RESET re-arms what was harvested
 *   TCG      soft TLB entries of a generation; re-arming waits until the vCPU has acknowledged
 * BREAK breaks one of the six rules on purpose (0: none); see docs/architecture.md, section 2.
 */
#define LEGACY 0
#define MANUAL 1
#define INITSET 2
#define RING 3
#define TCG 4

#ifndef MODE
#define MODE MANUAL
#endif
#ifndef BREAK
#define BREAK 0
#endif

#define PAGES 2
#define WRITES 2 /* by the vCPU */
#define DEVICE_WRITES 1
#define PASSES 2 /* with the vCPU running */
#define RING_SIZE 2

byte content[PAGES]; /* number of the last write */
byte copy[PAGES];    /* what the receiver has */
bit map[PAGES];      /* the client's dirty bits */

/* The kernel's (or the translator's) side. */
bit log[PAGES];      /* KVM log: written since last armed */
bit armed[PAGES];    /* the page table write-protects the page */
bit tlb[PAGES];      /* the vCPU holds a writable translation */
byte ring[RING_SIZE];
byte ring_used;
byte generation, acknowledged; /* TCG: requested, and seen by the vCPU */

bit stop_vcpu, vcpu_stopped, device_done;
byte next_content = 1;

/* A store without a writable translation faults: it is noted, and the page becomes writable. */
inline fault(p)
{
	if
	:: armed[p] && MODE == RING ->
		ring[ring_used] = p;
		ring_used++;
		armed[p] = 0;
	:: armed[p] && MODE == TCG ->
		map[p] = 1;
		armed[p] = 0;
	:: armed[p] && MODE != RING && MODE != TCG ->
		log[p] = 1;
		armed[p] = 0;
	:: else -> skip;
	fi;
	tlb[p] = 1;
}

proctype vcpu()
{
	byte n = 0, p;

	do
	:: stop_vcpu -> break;
	:: MODE == TCG && acknowledged != generation ->
		/* The exit check: translations of the old generation go. */
		atomic { tlb[0] = 0; tlb[1] = 0; acknowledged = generation; }
	:: !stop_vcpu && n < WRITES ->
		if
		:: p = 0;
		:: p = 1;
		fi;
again:
		if
		:: atomic { tlb[p] -> content[p] = next_content; next_content++; n++; }
		:: atomic { !tlb[p] && (MODE != RING || ring_used < RING_SIZE || !armed[p]) ->
			fault(p); }
			goto again;
		:: atomic { MODE == RING && !tlb[p] && ring_used == RING_SIZE } -> skip; /* full: exit */
		:: MODE == TCG && acknowledged != generation -> skip;
		:: stop_vcpu -> break;
		fi;
	od;
	vcpu_stopped = 1;
}

proctype device()
{
	byte n = 0, p;

	do
	:: n < DEVICE_WRITES ->
		if
		:: p = 0;
		:: p = 1;
		fi;
		atomic { content[p] = next_content; next_content++; }
#if BREAK != 5
		map[p] = 1; /* after the store, never before */
#endif
		n++;
	:: break;
	od;
	device_done = 1;
}

byte i, failures;
bit want[PAGES], taken[PAGES];

/* Re-arms the pages in want[]; on return no vCPU writes them without being noticed. */
inline rearm()
{
	atomic {
		i = 0;
		do
		:: i < PAGES && want[i] -> log[i] = 0; armed[i] = 1; i++;
		:: i < PAGES && !want[i] -> i++;
		:: i >= PAGES -> break;
		od;
	}
	/* The flush is a step of its own. */
	if
	:: MODE == TCG ->
		generation = 1 - generation;
#if BREAK != 4
		(acknowledged == generation || vcpu_stopped);
		if
		:: vcpu_stopped -> atomic { tlb[0] = 0; tlb[1] = 0; acknowledged = generation; }
		:: else -> skip;
		fi;
#endif
	:: else ->
		atomic {
			i = 0;
			do
			:: i < PAGES && want[i] -> tlb[i] = 0; i++;
			:: i < PAGES && !want[i] -> i++;
			:: i >= PAGES -> break;
			od;
		}
	fi;
}

/* Brings what the source knows into the map. */
inline sync()
{
	want[0] = 0; want[1] = 0;
	if
	:: MODE == LEGACY ->
		atomic {
			i = 0;
			do
			:: i < PAGES && log[i] -> map[i] = 1; want[i] = 1; log[i] = 0; armed[i] = 1; i++;
			:: i < PAGES && !log[i] -> i++;
			:: i >= PAGES -> break;
			od;
		}
		atomic {
			i = 0;
			do
			:: i < PAGES && want[i] -> tlb[i] = 0; i++;
			:: i < PAGES && !want[i] -> i++;
			:: i >= PAGES -> break;
			od;
		}
	:: MODE == MANUAL || MODE == INITSET ->
		atomic {
			i = 0;
			do
			:: i < PAGES && log[i] -> map[i] = 1; i++;
			:: i < PAGES && !log[i] -> i++;
			:: i >= PAGES -> break;
			od;
		}
	:: MODE == RING ->
		atomic {
			i = 0;
			do
			:: i < ring_used -> map[ring[i]] = 1; want[ring[i]] = 1; i++;
			:: i >= ring_used -> break;
			od;
			ring_used = 0;
		}
#if BREAK != 1
		rearm(); /* before any content is read */
#endif
	:: MODE == TCG -> skip; /* stores set the map themselves */
	fi;
}

inline take()
{
	atomic {
		taken[0] = map[0]; taken[1] = map[1];
		map[0] = 0; map[1] = 0;
	}
}

inline clear()
{
	if
	:: MODE == MANUAL || MODE == INITSET || MODE == TCG ->
#if BREAK == 4
		/* A merged clear that reaches pages which nobody took. */
		want[0] = 1; want[1] = 1;
#else
		want[0] = taken[0]; want[1] = taken[1];
#endif
		rearm();
	:: else -> skip; /* sync has re-armed what it reported */
	fi;
}

inline send()
{
	i = 0;
	do
	:: i < PAGES && taken[i] -> copy[i] = content[i]; taken[i] = 0; i++;
	:: i < PAGES && !taken[i] -> i++;
	:: i >= PAGES -> break;
	od;
}

proctype taker()
{
	byte pass = 0;

	do
	:: pass < PASSES ->
		sync();
		take();
#if BREAK == 1
		i = 0;
		do
		:: i < PAGES && taken[i] -> copy[i] = content[i]; i++;
		:: i < PAGES && !taken[i] -> i++;
		:: i >= PAGES -> break;
		od;
		if
		:: MODE == LEGACY || MODE == RING -> want[0] = taken[0]; want[1] = taken[1]; rearm();
		:: else -> skip;
		fi;
		clear();
		taken[0] = 0; taken[1] = 0;
#else
		if
		:: failures == 0 ->
			/* This clear fails: an error of the migration, the bits go back. */
			failures++;
#if BREAK != 2
			atomic {
				map[0] = map[0] | taken[0]; map[1] = map[1] | taken[1];
				taken[0] = 0; taken[1] = 0;
			}
#else
			taken[0] = 0; taken[1] = 0;
#endif
		:: true ->
			clear();
			send();
		fi;
#endif
		pass++;
	:: pass >= PASSES -> break;
	od;

	/* Switch-over. */
	stop_vcpu = 1;
	vcpu_stopped;
	device_done;
#if BREAK != 6
	sync();
#endif
	take();
	clear();
	send();
	assert(copy[0] == content[0]);
	assert(copy[1] == content[1]);
}

init
{
	atomic {
		i = 0;
		do
		:: i < PAGES ->
			map[i] = 1; /* the first pass sends everything */
			if
			:: MODE == INITSET || (MODE == RING && BREAK == 3) ->
				/* Nothing is protected; the log says that all is dirty. */
				log[i] = 1;
				tlb[i] = 1;
			:: else ->
				armed[i] = 1;
			fi;
			i++;
		:: i >= PAGES -> break;
		od;
		run vcpu();
		run device();
		run taker();
	}
}
