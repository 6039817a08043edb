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

CONSTANT(least, 0x0010000000000000)
CONSTANT(most, 0x7fefffffffffffff)
CONSTANT(rootOfHalf, 0x3fe6a09e667f3bcd)
CONSTANT(exponents, 0xfff0000000000000)
CONSTANT(half, 0x3fe0000000000000)
CONSTANT(two, 0x4000000000000000)
CONSTANT(s3, 0x3fe5555555555555)
CONSTANT(s5, 0x3fd999999999999a)
CONSTANT(s7, 0x3fd2492492492492)
CONSTANT(s9, 0x3fcc71c71c71c71c)
CONSTANT(s11, 0x3fc745d1745d1746)
CONSTANT(s13, 0x3fc3b13b13b13b14)
CONSTANT(s15, 0x3fc1111111111111)
CONSTANT(s17, 0x3fbe1e1e1e1e1e1e)
CONSTANT(s19, 0x3fbaf286bca1af28)
CONSTANT(s21, 0x3fb8618618618618)
CONSTANT(s23, 0x3fb642c8590b2164)

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
	VADDPD half<>(SB), Y7, Y7
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

// func logVectors(x *float64, groups int) (done int)
TEXT ·logVectors(SB), NOSPLIT, $0-24
	MOVQ    x+0(FP), DI
	MOVQ    groups+8(FP), CX
	XORQ    AX, AX
	VMOVUPD least<>(SB), Y8
	VMOVUPD most<>(SB), Y9
	VMOVUPD rootOfHalf<>(SB), Y10
	VMOVUPD exponents<>(SB), Y11
	VMOVUPD two<>(SB), Y13
	VMOVUPD high<>(SB), Y14
	VMOVUPD low<>(SB), Y15

loop:
	CMPQ      AX, CX
	JGE       end
	VMOVUPD   (DI), Y0
	VCMPPD    $13, Y8, Y0, Y1  // x >= least
	VCMPPD    $2, Y9, Y0, Y2   // x <= most
	VANDPD    Y1, Y2, Y1
	VMOVMSKPD Y1, DX
	CMPL      DX, $15
	JNE       end

	VPSUBQ       Y10, Y0, Y1
	VPSRAD       $20, Y1, Y2
	VEXTRACTI128 $1, Y2, X3
	VSHUFPS      $0xdd, X3, X2, X2
	VCVTDQ2PD    X2, Y2        // n
	VPAND        Y11, Y1, Y1
	VPSUBQ       Y1, Y0, Y0
	VSUBPD       one<>(SB), Y0, Y0 // f
	VADDPD       Y13, Y0, Y3
	VDIVPD       Y3, Y0, Y3    // s
	VMULPD       Y3, Y3, Y4    // z
	VMULPD       Y4, Y4, Y5    // z2

	VMULPD s21<>(SB), Y4, Y6
	VADDPD s19<>(SB), Y6, Y6
	VMULPD s23<>(SB), Y5, Y7
	VADDPD Y7, Y6, Y6          // p8
	VMULPD Y5, Y5, Y1          // z4
	VMULPD Y1, Y6, Y6          // z4 p8

	VMULPD s17<>(SB), Y4, Y7
	VADDPD s15<>(SB), Y7, Y7
	VMULPD Y5, Y7, Y7
	VMULPD s13<>(SB), Y4, Y12
	VADDPD s11<>(SB), Y12, Y12
	VADDPD Y7, Y12, Y7         // p4
	VADDPD Y6, Y7, Y6
	VMULPD Y1, Y6, Y6          // z4 (p4 + z4 p8)

	VMULPD s9<>(SB), Y4, Y7
	VADDPD s7<>(SB), Y7, Y7
	VMULPD Y5, Y7, Y7
	VMULPD s5<>(SB), Y4, Y12
	VADDPD s3<>(SB), Y12, Y12
	VADDPD Y7, Y12, Y7         // p0
	VADDPD Y6, Y7, Y6
	VMULPD Y4, Y6, Y6          // series

	VMULPD Y0, Y0, Y4
	VMULPD half<>(SB), Y4, Y4  // half
	VADDPD Y6, Y4, Y6
	VMULPD Y3, Y6, Y6
	VMULPD Y15, Y2, Y7         // n ln2Low
	VADDPD Y7, Y6, Y6
	VSUBPD Y6, Y4, Y6
	VSUBPD Y0, Y6, Y6
	VMULPD Y14, Y2, Y2         // n ln2High
	VSUBPD Y6, Y2, Y6
	VMOVUPD Y6, (DI)
	ADDQ    $32, DI
	INCQ    AX
	JMP     loop

end:
	MOVQ AX, done+16(FP)
	VZEROUPPER
	RET

// func expWide(x *float64, groups int) (done int)
TEXT ·expWide(SB), NOSPLIT, $0-24
	MOVQ         x+0(FP), DI
	MOVQ         groups+8(FP), CX
	XORQ         AX, AX
	VBROADCASTSD inverse<>(SB), Z8
	VBROADCASTSD shift<>(SB), Z9
	VBROADCASTSD high<>(SB), Z10
	VBROADCASTSD low<>(SB), Z11
	VBROADCASTSD bound<>(SB), Z12
	VBROADCASTSD absolute<>(SB), Z13
	VBROADCASTSD one<>(SB), Z14
	VBROADCASTSD half<>(SB), Z16
	VBROADCASTSD f3<>(SB), Z17
	VBROADCASTSD f4<>(SB), Z18
	VBROADCASTSD f5<>(SB), Z19
	VBROADCASTSD f6<>(SB), Z20
	VBROADCASTSD f7<>(SB), Z21
	VBROADCASTSD f8<>(SB), Z22
	VBROADCASTSD f9<>(SB), Z23
	VBROADCASTSD f10<>(SB), Z24
	VBROADCASTSD f11<>(SB), Z25
	VBROADCASTSD f12<>(SB), Z26
	VBROADCASTSD f13<>(SB), Z27

loop:
	CMPQ    AX, CX
	JGE     end
	VMOVUPD (DI), Z0
	VPANDQ  Z0, Z13, Z1
	VCMPPD  $2, Z12, Z1, K1 // |x| <= bound
	KMOVB   K1, DX
	CMPL    DX, $255
	JNE     end

	VMULPD Z8, Z0, Z1
	VADDPD Z9, Z1, Z1          // sum
	VSUBPD Z9, Z1, Z2          // k
	VMULPD Z10, Z2, Z3
	VSUBPD Z3, Z0, Z3          // high
	VMULPD Z11, Z2, Z4         // low
	VSUBPD Z4, Z3, Z2          // r
	VSUBPD Z2, Z3, Z3
	VSUBPD Z4, Z3, Z3          // c
	VMULPD Z2, Z2, Z4          // r2
	VMULPD Z4, Z4, Z5          // r4

	VMULPD Z25, Z2, Z6
	VADDPD Z24, Z6, Z6
	VMULPD Z27, Z2, Z7
	VADDPD Z26, Z7, Z7
	VMULPD Z4, Z7, Z7
	VADDPD Z7, Z6, Z6          // p8
	VMULPD Z5, Z6, Z6          // r4 p8

	VMULPD Z21, Z2, Z7
	VADDPD Z20, Z7, Z7
	VMULPD Z23, Z2, Z15
	VADDPD Z22, Z15, Z15
	VMULPD Z4, Z15, Z15
	VADDPD Z15, Z7, Z7         // p4
	VADDPD Z6, Z7, Z6
	VMULPD Z5, Z6, Z6          // r4 (p4 + r4 p8)

	VMULPD Z17, Z2, Z7
	VADDPD Z16, Z7, Z7
	VMULPD Z19, Z2, Z15
	VADDPD Z18, Z15, Z15
	VMULPD Z4, Z15, Z15
	VADDPD Z15, Z7, Z7         // p0
	VADDPD Z6, Z7, Z6
	VMULPD Z4, Z6, Z6          // tail

	VADDPD  Z6, Z3, Z6         // c + tail
	VADDPD  Z6, Z2, Z6         // r + (c + tail)
	VADDPD  Z6, Z14, Z6        // y
	VPSLLQ  $52, Z1, Z1
	VPADDQ  Z1, Z6, Z6         // 2^k y
	VMOVUPD Z6, (DI)
	ADDQ    $64, DI
	INCQ    AX
	JMP     loop

end:
	MOVQ AX, done+16(FP)
	VZEROUPPER
	RET

// func logWide(x *float64, groups int) (done int)
TEXT ·logWide(SB), NOSPLIT, $0-24
	MOVQ         x+0(FP), DI
	MOVQ         groups+8(FP), CX
	XORQ         AX, AX
	VBROADCASTSD least<>(SB), Z8
	VBROADCASTSD most<>(SB), Z9
	VBROADCASTSD rootOfHalf<>(SB), Z10
	VBROADCASTSD exponents<>(SB), Z11
	VBROADCASTSD two<>(SB), Z13
	VBROADCASTSD high<>(SB), Z14
	VBROADCASTSD low<>(SB), Z15

loop:
	CMPQ    AX, CX
	JGE     end
	VMOVUPD (DI), Z0
	VCMPPD  $13, Z8, Z0, K1     // x >= least
	VCMPPD  $2, Z9, Z0, K1, K1  // x <= most
	KMOVB   K1, DX
	CMPL    DX, $255
	JNE     end

	VPSUBQ      Z10, Z0, Z1
	VPSRAQ      $52, Z1, Z2
	VCVTQQ2PD   Z2, Z2         // n
	VPANDQ      Z11, Z1, Z1
	VPSUBQ      Z1, Z0, Z0
	VSUBPD.BCST one<>(SB), Z0, Z0 // f
	VADDPD      Z13, Z0, Z3
	VDIVPD      Z3, Z0, Z3     // s
	VMULPD      Z3, Z3, Z4     // z
	VMULPD      Z4, Z4, Z5     // z2

	VMULPD.BCST s21<>(SB), Z4, Z6
	VADDPD.BCST s19<>(SB), Z6, Z6
	VMULPD.BCST s23<>(SB), Z5, Z7
	VADDPD      Z7, Z6, Z6     // p8
	VMULPD      Z5, Z5, Z1     // z4
	VMULPD      Z1, Z6, Z6     // z4 p8

	VMULPD.BCST s17<>(SB), Z4, Z7
	VADDPD.BCST s15<>(SB), Z7, Z7
	VMULPD      Z5, Z7, Z7
	VMULPD.BCST s13<>(SB), Z4, Z12
	VADDPD.BCST s11<>(SB), Z12, Z12
	VADDPD      Z7, Z12, Z7    // p4
	VADDPD      Z6, Z7, Z6
	VMULPD      Z1, Z6, Z6     // z4 (p4 + z4 p8)

	VMULPD.BCST s9<>(SB), Z4, Z7
	VADDPD.BCST s7<>(SB), Z7, Z7
	VMULPD      Z5, Z7, Z7
	VMULPD.BCST s5<>(SB), Z4, Z12
	VADDPD.BCST s3<>(SB), Z12, Z12
	VADDPD      Z7, Z12, Z7    // p0
	VADDPD      Z6, Z7, Z6
	VMULPD      Z4, Z6, Z6     // series

	VMULPD      Z0, Z0, Z4
	VMULPD.BCST half<>(SB), Z4, Z4 // half
	VADDPD      Z6, Z4, Z6
	VMULPD      Z3, Z6, Z6
	VMULPD      Z15, Z2, Z7    // n ln2Low
	VADDPD      Z7, Z6, Z6
	VSUBPD      Z6, Z4, Z6
	VSUBPD      Z0, Z6, Z6
	VMULPD      Z14, Z2, Z2    // n ln2High
	VSUBPD      Z6, Z2, Z6
	VMOVUPD     Z6, (DI)
	ADDQ        $64, DI
	INCQ        AX
	JMP         loop

end:
	MOVQ AX, done+16(FP)
	VZEROUPPER
	RET
