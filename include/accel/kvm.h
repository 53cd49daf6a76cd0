/*
 * accel/kvm.h - what an architecture's KVM glue needs beside struct accel_ops.
 *
 * Only target/<arch>/ (and in-kernel devices there) may include this.
 */
#ifndef ACCEL_KVM_H
#define ACCEL_KVM_H

#include "accel/accel.h"

/* accel_is_kvm() - whether the functions below may be used. */
bool accel_is_kvm(const struct accel *a);

/* kvm_fd_of_system(), kvm_fd_of_vm(), kvm_fd_of_vcpu() - descriptors; owned by the accelerator. */
int kvm_fd_of_system(struct accel *a);
int kvm_fd_of_vm(struct accel *a);
int kvm_fd_of_vcpu(struct vcpu *cpu);

/* kvm_check_extension() - KVM_CHECK_EXTENSION on the VM; 0 if unknown. */
int kvm_check_extension(struct accel *a, int cap);

/*
 * kvm_call() - ioctl(2) whose failure is an error that names it.
 * @name: of the request, for the message ("KVM_SET_REGS").
 *
 * Return: the call's value, or -errno with @err.
 */
int kvm_call(int fd, unsigned long request, void *arg, const char *name, GError **err);
#define KVM_CALL(fd, request, arg, err) kvm_call(fd, request, arg, #request, err)

#endif
