/* target/arm/trans_crypto.c - translation rules of cryptography and checksums. */
#include "target/arm/trans_vec.h"

bool trans_AESE(struct trans *t, const struct a64_AESE *i)
{
	return e_has_vectors() && e_aes(t, E_AES_ENC, i->rd, i->rn);
}

bool trans_AESD(struct trans *t, const struct a64_AESD *i)
{
	return e_has_vectors() && e_aes(t, E_AES_DEC, i->rd, i->rn);
}

bool trans_AESMC(struct trans *t, const struct a64_AESMC *i)
{
	return e_has_vectors() && e_aes(t, E_AES_MIX, i->rd, i->rn);
}

bool trans_AESIMC(struct trans *t, const struct a64_AESIMC *i)
{
	return e_has_vectors() && e_aes(t, E_AES_UNMIX, i->rd, i->rn);
}

bool trans_PMULL_q(struct trans *t, const struct a64_PMULL_q *i)
{
	return e_has_vectors() && e_pmull(t, i->q, i->rd, i->rn, i->rm);
}

bool trans_EOR3(struct trans *t, const struct a64_EOR3 *i)
{
	return e_has_vectors() && e_v(t, E_VXOR, 0, E_V0, i->rn, i->rm) &&
	       e_v(t, E_VXOR, 0, i->rd, E_V0, i->ra);
}

bool trans_BCAX(struct trans *t, const struct a64_BCAX *i)
{
	return e_has_vectors() && e_v(t, E_VANDN, 0, E_V0, i->ra, i->rm) &&
	       e_v(t, E_VXOR, 0, i->rd, i->rn, E_V0);
}

/* d = a rotated left by 1 to 31; destroys the scratch vector that is not d */
static void rotate_words(struct trans *t, unsigned d, unsigned a, unsigned n)
{
	unsigned spare = d == E_V0 ? E_V1 : E_V0;

	e_vshifti(t, E_SHR, 2, spare, a, 32 - n);
	e_vshifti(t, E_SHL, 2, d, a, n);
	e_v(t, E_VOR, 0, d, d, spare);
}

bool trans_SHA1(struct trans *t, const struct a64_SHA1 *i)
{
	return e_has_vectors() && e_sha1(t, (enum e_sha1)i->op, i->rd, i->rn, i->rm);
}

bool trans_SHA1H(struct trans *t, const struct a64_SHA1H *i)
{
	if (!e_has_vectors())
		return false;
	e_vfirst(t, 2, E_V1, i->rn);
	rotate_words(t, i->rd, E_V1, 30);
	return true;
}

bool trans_SHA1SU0(struct trans *t, const struct a64_SHA1SU0 *i)
{
	if (!e_has_vectors())
		return false;
	e_vext(t, E_V0, i->rd, i->rn, 8);
	e_v(t, E_VXOR, 0, E_V0, E_V0, i->rm);
	return e_v(t, E_VXOR, 0, i->rd, i->rd, E_V0);
}

/* The last word depends on the first: that one rotated once more. */
bool trans_SHA1SU1(struct trans *t, const struct a64_SHA1SU1 *i)
{
	if (!e_has_vectors())
		return false;
	e_vmovi(t, E_V0, 0, 0);
	e_vext(t, E_V1, i->rn, E_V0, 4);
	e_v(t, E_VXOR, 0, E_V1, E_V1, i->rd);
	rotate_words(t, i->rd, E_V1, 1);
	rotate_words(t, E_V1, i->rd, 1);
	e_vmovi(t, E_V0, 0, 0);
	e_vext(t, E_V1, E_V0, E_V1, 4);
	return e_v(t, E_VXOR, 0, i->rd, i->rd, E_V1);
}

bool trans_SHA256H(struct trans *t, const struct a64_SHA256H *i)
{
	return e_has_vectors() && e_sha256(t, i->second, i->rd, i->rn, i->rm);
}

bool trans_SHA256SU0(struct trans *t, const struct a64_SHA256SU0 *i)
{
	return e_has_vectors() && e_sha256_first(t, i->rd, i->rn);
}

bool trans_SHA256SU1(struct trans *t, const struct a64_SHA256SU1 *i)
{
	return e_has_vectors() && e_sha256_second(t, i->rd, i->rn, i->rm);
}

bool trans_SHA512SU0(struct trans *t, const struct a64_SHA512SU0 *i)
{
	static const u8 n[3] = { 1, 8, 7 };

	if (!e_has_vectors())
		return false;
	e_vext(t, E_V0, i->rd, i->rn, 8);
	e_sha512_sigma(t, i->rd, i->rd, E_V0, n);
	return true;
}

bool trans_SHA512SU1(struct trans *t, const struct a64_SHA512SU1 *i)
{
	static const u8 n[3] = { 19, 61, 6 };

	if (!e_has_vectors())
		return false;
	e_v(t, E_VADD, 3, E_V1, i->rd, i->rm);
	e_sha512_sigma(t, i->rd, E_V1, i->rn, n);
	return true;
}

bool trans_RAX1(struct trans *t, const struct a64_RAX1 *i)
{
	if (!e_has_vectors())
		return false;
	e_vror64(t, E_V0, i->rm, 63);
	return e_v(t, E_VXOR, 0, i->rd, i->rn, E_V0);
}

bool trans_XAR(struct trans *t, const struct a64_XAR *i)
{
	if (!e_has_vectors())
		return false;
	e_v(t, E_VXOR, 0, E_V0, i->rn, i->rm);
	e_vror64(t, i->rd, E_V0, i->imm);
	return true;
}

bool trans_CRC32(struct trans *t, const struct a64_CRC32 *i)
{
	return e_crc32(t, i->c, i->sz, gx(i->rd), gx(i->rn), gx(i->rm));
}
