#!/usr/bin/env python3
"""Whole command lines as tools and people give them: each starts, or is refused by the name of what is not there.

The shapes are those of build systems, test suites and managers of virtual machines; file names are neutral: K is
a kernel, I an initial RAM disk, D and E disks, FW, F0 and F1 flash images, OUT and LOG files to write, S a folder of
sockets. -S and a QMP socket are added.
"""

import os
import pathlib
import shlex

from lib import host
from test_command_line import CommandLineTest
from lib.testcase import main

UUID = '01234567-89ab-cdef-0123-456789abcdef'
MASTER_KEY = '{"qom-type":"secret","id":"masterKey0","format":"raw","file":"KEY"}'
RAM = '{"qom-type":"memory-backend-ram","id":"%s","size":134217728}'
SANDBOX = '-sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'

# What starts on arm64's virt.
ARM64 = (
    # a build system's start script
    '-M virt -cpu cortex-a53 -nographic -smp 1 -kernel K -append "rootwait root=/dev/vda console=ttyAMA0" '
    '-netdev user,id=eth0 -device virtio-net-device,netdev=eth0 -drive file=D,if=none,format=raw,id=hd0 '
    '-device virtio-blk-device,drive=hd0',
    # kernel test suites; accelerators that are not there are passed over
    '-nodefaults -m 1024 -kernel K -append "..." -no-reboot -nographic -accel kvm -accel hvf -accel tcg -serial stdio '
    '-machine virt -cpu max',
    '-M virt -cpu max -m 1G -smp 2 -no-reboot -nographic -nodefaults -accel kvm -accel hvf -accel tcg '
    '-serial file:OUT -append "..." -kernel K -initrd I',
    '-display none -no-reboot -kernel K -initrd I -serial file:/dev/stdout -m 1G -M virt -cpu cortex-a53 '
    '-append "panic=-1"',
    '-nodefaults -display none -serial mon:stdio -M virt,gic-version=3 -cpu cortex-a76 -smp 8 -m 4G '
    '-drive file=D,format=raw,index=1,media=disk,if=virtio,cache=none -kernel K -append "root=/dev/vda rw"',
    '-nodefaults -nographic -smp 2 -cpu max -machine virt -m 256M -serial stdio -chardev file,path=OUT,id=result '
    '-device virtio-serial-device -device virtserialport,chardev=result -no-reboot -monitor none -kernel K',
    '-machine virt,gic-version=max -cpu max -display none -no-reboot -smp 2 -net none -serial file:OUT -m 512 '
    '-kernel K -append "..."',
    '-display none -nodefaults -cpu max,lpa2=off,pauth-impdef=true -machine virt,gic-version=max,virtualization=true '
    '-kernel K -append "console=ttyAMA0 earlycon" -initrd I -m 512m -serial mon:stdio',
    '-display none -nodefaults -cpu max -machine virt,acpi=off -drive if=pflash,format=raw,file=F0,readonly=on '
    '-drive if=pflash,format=raw,file=F1 -object rng-random,filename=/dev/urandom,id=rng0 -device virtio-rng-pci '
    '-m 512m -serial mon:stdio',
    '-m 512 -smp 2 -chardev socket,id=X,server=on,wait=off,host=localhost,port=0 -mon chardev=X,mode=control '
    '-display none -serial stdio -no-reboot -name VM-0 -device virtio-rng-pci '
    '-machine virt,virtualization=on,gic-version=max -cpu max -device virtio-net-pci,netdev=net0 '
    '-netdev user,id=net0,restrict=on,hostfwd=tcp:127.0.0.1:0-:22 -hda D -snapshot -kernel K -append "..."',
    '-M virt,gic-version=max -cpu max -parallel none -net none -echr 1 -chardev file,path=/proc/self/fd/2,id=dmesg '
    '-device virtio-serial-device -device virtconsole,chardev=dmesg -chardev stdio,id=console,signal=off,mux=on '
    '-serial chardev:console -mon chardev=console -vga none -display none -smp 4 -m 1G -kernel K',
    # managers
    '-cpu max -machine type=virt,gic-version=max,accel=tcg -nodefaults -nographic -m 512 '
    '-device pcie-root-port,id=pci.1,bus=pcie.0,slot=1,chassis=1 -smp 2 -kernel K -device virtio-serial '
    '-chardev stdio,id=console -device virtconsole,chardev=console -serial unix:S/a,server,nowait '
    '-monitor unix:S/b,server,nowait -gdb unix:S/c,server,nowait -device virtio-rng-pci '
    '-object memory-backend-memfd,id=mem,size=512M,share=on -numa node,memdev=mem '
    '-nic user,model=virtio,hostfwd=tcp:127.0.0.1:0-:22',
    '-machine virt,gic-version=max,accel=tcg -cpu max -object memory-backend-memfd,id=mem,size=64M,share=on,prealloc=on '
    '-machine memory-backend=mem -m 64 -smp 2 -drive file=F0,if=pflash,format=raw,unit=0,readonly=on,auto-read-only=off '
    '-drive file=F1,if=pflash,format=raw,unit=1,readonly=off -object rng-random,filename=/dev/urandom,id=rng0 '
    '-device virtio-rng-pci,rng=rng0 -nographic -nodefaults -chardev socket,id=qmp,path=S/a,server=on,wait=off '
    '-mon chardev=qmp,mode=control -serial chardev:log -chardev file,id=log,path=LOG,append=on',
    '-M virt,accel=tcg -cpu max -m 1024 -smp 4,sockets=1,cores=4,threads=1 -drive if=pflash,format=raw,readonly=on,file=F0 '
    '-drive file=D,if=virtio,discard=on,format=raw -boot order=c -device virtio-net-pci,netdev=net0,mac=52:54:00:00:00:01 '
    '-netdev user,id=net0,net=192.168.5.0/24,dhcpstart=192.168.5.15,hostfwd=tcp:127.0.0.1:0-:22 '
    '-chardev socket,id=char-serial,path=S/a,server=on,wait=off,logfile=LOG -serial chardev:char-serial '
    '-chardev socket,id=char-qmp,path=S/b,server=on,wait=off -qmp chardev:char-qmp -name lima -pidfile PID '
    '-display none -parallel none',
    '-name X -uuid %s -nographic -serial chardev:console -qmp chardev:monitor -nodefaults -no-user-config '
    '-chardev null,id=console -chardev socket,id=monitor,path=S/a,server=on,wait=off -pidfile PID -M virt -cpu max '
    '-incoming defer' % UUID,
    # migration
    '-name source,debug-threads=on -m 150M -serial file:OUT -drive if=none,id=d0,file=D,format=raw -machine virt, '
    '-cpu max -kernel K -object memory-backend-memfd,id=mem0,size=150M,share=on -machine memory-backend=mem0',
    '-machine virt,gic-version=max -cpu max -incoming tcp:127.0.0.1:0 -nodefaults',
    '-machine virt -cpu max -incoming unix:S/m -chardev socket,id=mon,path=S/a,server=on,wait=off '
    '-mon chardev=mon,mode=control -nodefaults',
    # libvirt 9.0 and 12.8
    "-name guest=g,debug-threads=on -S -object '" + MASTER_KEY + "' "
    '-machine virt,usb=off,gic-version=3,dump-guest-core=off,memory-backend=mach-virt.ram -accel tcg -cpu cortex-a57 '
    "-m 128 -object '" + RAM % 'mach-virt.ram' + "' -overcommit mem-lock=off -smp 1,maxcpus=2,sockets=2,cores=1,threads=1 "
    '-uuid ' + UUID + ' -display none -no-user-config -nodefaults -rtc base=utc -no-shutdown -no-acpi -boot strict=on '
    '-kernel K -append "console=ttyAMA0 quiet" '
    '-device \'{"driver":"pcie-root-port","port":8,"chassis":1,"id":"pci.1","bus":"pcie.0","multifunction":true,"addr":"0x1"}\' '
    '-device \'{"driver":"pcie-root-port","port":9,"chassis":2,"id":"pci.2","bus":"pcie.0","addr":"0x1.0x1"}\' '
    '-blockdev \'{"driver":"file","filename":"D","node-name":"libvirt-1-storage","auto-read-only":true,"discard":"unmap"}\' '
    '-blockdev \'{"node-name":"libvirt-1-format","read-only":false,"driver":"raw","file":"libvirt-1-storage"}\' '
    '-device \'{"driver":"virtio-blk-pci","bus":"pci.2","addr":"0x0","drive":"libvirt-1-format","id":"virtio-disk0",'
    '"bootindex":1,"write-cache":"on"}\' -netdev \'{"type":"user","id":"hostnet0"}\' '
    '-device \'{"driver":"virtio-net-pci","netdev":"hostnet0","id":"net0","mac":"52:54:00:11:22:38","bus":"pci.1","addr":"0x0"}\' '
    '-chardev file,id=charserial0,path=LOG,append=on -serial chardev:charserial0 '
    '-audiodev \'{"id":"audio1","driver":"none"}\' ' + SANDBOX + ' -msg timestamp=on',
    "-machine virt,usb=off,gic-version=3,dump-guest-core=off,memory-backend=mach-virt.ram,acpi=off -accel tcg -cpu max "
    "-m size=131072k -object '" + RAM % 'mach-virt.ram' + "' -display none -nodefaults -kernel K "
    "-chardev socket,id=charmonitor,path=S/a,server=on,wait=off "
    '-object \'{"qom-type":"monitor-qmp","id":"monitor","chardev":"charmonitor"}\' -incoming defer',
    # spellings
    '-M virt,acpi=on -cpu max -kernel K',
    '-M virt -cpu max -m 1.5G -kernel K -append "" -nic none',
    '-M virt,gic_version=3, -cpu max --kernel K --append "a,,b" -net none -serial telnet:localhost:0,server,nowait',
    '-M virt -cpu nonesuch -cpu cortex-a57 -kernel K -net nic -net user -monitor none -serial none',
)

# (line, what the refusal says)
REFUSED_ARM64 = (
    ('-machine virt -cpu max,sve128=on,pauth=off -kernel K', 'sve128=on is not available'),
    ('-nodefaults -machine virt -accel tcg -cpu cortex-a57 -device virtio-serial-device -device virtconsole,chardev=ctd '
     '-chardev testdev,id=ctd -device pci-testdev -display none -serial stdio -kernel K', "'pci-testdev' is not a valid"),
    ('-nographic -smp 2 -cpu max -semihosting-config enable=on,target=native -m 1057 -bios F0 '
     '-machine virt,acpi=off,secure=on,mte=off,gic-version=3', 'secure=on is not available'),
    ('-M virt,secure=on,acpi=off -bios F0 -cpu cortex-a53 -m 2048 -nographic', 'secure=on is not available.*no EL3'),
    ('-M virt -cpu cortex-a57 -nographic -bios F0 -netdev user,id=net0 -device e1000,netdev=net0', "'e1000' is not a valid"),
    ('-M virt -cpu max -fsdev local,id=F,path=/,security_model=none,multidevs=remap '
     '-device virtio-9p-device,fsdev=F,mount_tag=/dev/root', 'no 9p exists'),
    ('-cpu max -machine type=virt -nodefaults -nographic -m 512,slots=8,maxmem=64G -kernel K', 'no memory slots'),
    ('-M virt -cpu max -device qemu-xhci,id=usb-bus', "'qemu-xhci' is not a valid"),
    ('-M sbsa-ref -cpu neoverse-n2 -smp 4 -m 1024 -nographic -pflash F0 -pflash F1 -hda D', "machine type 'sbsa-ref'"),
    ('-machine virt,gic-version=host -cpu host -enable-kvm -kernel K', 'invalid accelerator kvm'),
    ('-M virt -cpu max -initrd I', 'only allowed with -kernel'),
    ('-id 100 -M virt', "unknown option '-id'"),
)

REFUSED_X86 = (
    ('-M pc -kernel K -drive file=D,if=virtio,format=raw -serial stdio -net nic,model=virtio -net user', "machine type 'pc'"),
    ('-machine q35,accel=kvm -cpu host -display none -no-reboot -smp 2 -net none -m 512 -kernel K', "machine type 'q35'"),
    ('-M microvm,accel=qtest,pcie=on,rtc=on -kernel K', 'pcie=on is not available'),
    ('-machine type=q35,accel=kvm:tcg -cpu host -drive file=D,if=virtio,snapshot=on -vga none -nographic', "machine type 'q35'"),
    ("-name guest=g,debug-threads=on -S -object '" + MASTER_KEY + "' -machine pc-q35-7.2,usb=off -accel qtest "
     + SANDBOX, "machine type 'pc-q35-7.2'"),
)

X86 = (
    '-machine microvm,accel=qtest,pit=off,pic=off,rtc=off,acpi=off -nodefaults -nographic -smp 2 -m 256M -serial stdio '
    '-chardev file,path=OUT,id=result -device virtio-serial-device -device virtserialport,chardev=result -no-reboot '
    '-monitor none -kernel K',
)


class Lines(CommandLineTest):
    arch = 'aarch64'
    needs_guests = True
    starts, refused = ARM64, REFUSED_ARM64

    def setUp(self):
        super().setUp()
        for name in ('F0', 'F1'):
            with open(self.path(name), 'wb') as flash:
                flash.truncate(64 << 20)
        for name in ('D', 'I'):
            pathlib.Path(self.path(name)).write_bytes(bytes(1 << 20))
        pathlib.Path(self.path('KEY')).write_bytes(bytes(range(32)))
        os.mkdir(self.path('S'))

    def arguments(self, line):
        """The words of a line; every name of a file becomes one in the test's folder."""
        kernel = str(host.guest('writer', self.arch))
        names = {name: self.path(name) for name in ('D', 'I', 'F0', 'F1', 'KEY', 'OUT', 'LOG', 'PID')}
        words = []
        for word in shlex.split(line):
            word = kernel if word == 'K' else names.get(word, word)
            for name, path in names.items():
                for before, after in (('=%s', '=%s'), (':%s', ':%s'), ('"%s"', '"%s"')):
                    if (before % name) in word:
                        head, _, tail = word.partition(before % name)
                        if not tail or not tail[0].isalnum():
                            word = head + after % path + tail
            words.append(word.replace('=S/', '=%s/' % self.path('S')).replace(':S/', ':%s/' % self.path('S')))
        return words

    def clean(self):
        for path in pathlib.Path(self.path('S')).iterdir():
            path.unlink()

    def test_starts(self):
        for line in self.starts:
            with self.subTest(line=line):
                self.clean()
                with self.running('-S', *self.arguments(line)) as (process, qmp):
                    self.assertIn(qmp.cmd('query-status')['status'], ('prelaunch', 'inmigrate'))
                self.assertEqual(process.returncode, 0)
                noise = [text for text in self.stderr().splitlines() if not any(
                    known in text for known in ('invalid accelerator', 'falling back', 'QEMU', '(qemu)'))]
                self.assertEqual(noise, [])

    def test_refused(self):
        for line, pattern in self.refused:
            with self.subTest(line=line):
                self.clean()
                status, _, err = self.run_to_end('-S', *self.arguments(line))
                self.assertEqual(status, 1)
                self.assertRegex(err, pattern)


class LinesX86(Lines):
    arch = 'x86_64'
    starts, refused = X86, REFUSED_X86


class Texts(CommandLineTest):
    """What scripts look for in the output."""

    arch = 'aarch64'

    def test_texts(self):
        for args, patterns in {
                '-machine ?': ['ARM Virtual Machine'], '-machine virt,?': ['gic-version'],
                '-M virt -device ?': ['name "virtconsole", bus virtio-serial-bus, desc "'],
                '-M virt -chardev ?': ['(?m)^testdev$'], '-M none -accel help': ['(?m)^tcg$'],
                '-cpu help -machine virt': [r'\bcortex-a57\b', r'\bmax\b'], '-M none -netdev help': ['(?m)^user$'],
                '--version': [r'^QEMU emulator version \d+\.\d+\.\d+']}.items():
            with self.subTest(args=args):
                status, out, _ = self.run_to_end(*args.split())
                self.assertEqual(status, 0)
                for pattern in patterns:
                    self.assertRegex(out, pattern)


if __name__ == '__main__':
    main()
