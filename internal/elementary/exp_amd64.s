//go:build !purego

#include "textflag.h"

// CONSTANT makes four copies of a float64, given its bits.
#define CONSTANT(name, bits) \
	DATA name<>+0(SB)/8, $bits; \
	DATA name<>+8(SB)/8, $bits; \
	DATA name<>+16(SB)/8, $bits; \
	DATA name<>+24(SB)/8, $bits; \
	GLOBL name<>(SB), RODATA|NOPTR, $32

CONSTANT(absolute, 0x7fffffffffffffff)
CONSTANT(inverse, 0x3ff71547652b82fe)
CONSTANT(shift, 0x4338000000000000)
CONSTANT(high, 0x3fe62e42fee00000)
CONSTANT(low, 0x3dea39ef35793c76)
CONSTANT(bound, 0x4085e00000000000)
CONSTANT(one, 0x3ff0000000000000)
CONSTANT(f2, 0x3fe0000000000000)
CONSTANT(f3, 0x3fc5555555555555)
CONSTANT(f4, 0x3fa5555555555555)
CONSTANT(f5, 0x3f81111111111111)
CONSTANT(f6, 0x3f56c16c16c16c17)
CONSTANT(f7, 0x3f2a01a01a01a01a)
CONSTANT(f8, 0x3efa01a01a01a01a)
CONSTANT(f9, 0x3ec71de3a556c734)
CONSTANT(f10, 0x3e927e4fb7789f5c)
CONSTANT(f11, 0x3e5ae64567f544e4)
CONSTANT(f12, 0x3e21eed8eff8d898)
CONSTANT(f13, 0x3de6124613a86d09)

// func expVectors(x *float64, groups int) (done int)
TEXT ·expVectors(SB), NOSPLIT, $0-24
	MOVQ    x+0(FP), DI
	MOVQ    groups+8(FP), CX
	XORQ    AX, AX
	VMOVUPD inverse<>(SB), Y8
	VMOVUPD shift<>(SB), Y9
	VMOVUPD high<>(SB), Y10
	VMOVUPD low<>(SB), Y11
	VMOVUPD bound<>(SB), Y12
	VMOVUPD absolute<>(SB), Y13
	VMOVUPD one<>(SB), Y14

loop:
	CMPQ      AX, CX
	JGE       end
	VMOVUPD   (DI), Y0
	VANDPD    Y0, Y13, Y1
	VCMPPD    $2, Y12, Y1, Y1  // |x| <= bound
	VMOVMSKPD Y1, DX
	CMPL      DX, $15
	JNE       end

	VMULPD Y8, Y0, Y1
	VADDPD Y9, Y1, Y1          // sum
	VSUBPD Y9, Y1, Y2          // k
	VMULPD Y10, Y2, Y3
	VSUBPD Y3, Y0, Y3          // high
	VMULPD Y11, Y2, Y4         // low
	VSUBPD Y4, Y3, Y2          // r
	VSUBPD Y2, Y3, Y3
	VSUBPD Y4, Y3, Y3          // c
	VMULPD Y2, Y2, Y4          // r2
	VMULPD Y4, Y4, Y5          // r4

	VMULPD f11<>(SB), Y2, Y6
	VADDPD f10<>(SB), Y6, Y6
	VMULPD f13<>(SB), Y2, Y7
	VADDPD f12<>(SB), Y7, Y7
	VMULPD Y4, Y7, Y7
	VADDPD Y7, Y6, Y6          // p8
	VMULPD Y5, Y6, Y6          // r4 p8

	VMULPD f7<>(SB), Y2, Y7
	VADDPD f6<>(SB), Y7, Y7
	VMULPD f9<>(SB), Y2, Y15
	VADDPD f8<>(SB), Y15, Y15
	VMULPD Y4, Y15, Y15
	VADDPD Y15, Y7, Y7         // p4
	VADDPD Y6, Y7, Y6
	VMULPD Y5, Y6, Y6          // r4 (p4 + r4 p8)

	VMULPD f3<>(SB), Y2, Y7
	VADDPD f2<>(SB), Y7, Y7
	VMULPD f5<>(SB), Y2, Y15
	VADDPD f4<>(SB), Y15, Y15
	VMULPD Y4, Y15, Y15
	VADDPD Y15, Y7, Y7         // p0
	VADDPD Y6, Y7, Y6
	VMULPD Y4, Y6, Y6          // tail

	VADDPD  Y6, Y3, Y6         // c + tail
	VADDPD  Y6, Y2, Y6         // r + (c + tail)
	VADDPD  Y6, Y14, Y6        // y
	VPSLLQ  $52, Y1, Y1
	VPADDQ  Y1, Y6, Y6         // 2^k y
	VMOVUPD Y6, (DI)
	ADDQ    $32, DI
	INCQ    AX
	JMP     loop

end:
	MOVQ AX, done+16(FP)
	VZEROUPPER
	RET
