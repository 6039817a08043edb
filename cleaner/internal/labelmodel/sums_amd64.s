//go:build !purego

#include "textflag.h"

DATA leastChance<>(SB)/8, $0x3e112e0be826d695 // 1e-9
DATA smallest<>(SB)/8, $0x0000000000000001
DATA belowAll<>(SB)/8, $0xfff0000000000000
GLOBL leastChance<>(SB), RODATA|NOPTR, $8
GLOBL smallest<>(SB), RODATA|NOPTR, $8
GLOBL belowAll<>(SB), RODATA|NOPTR, $8

// func weighVectors(utility *float64, x *float32, weights *float64, lines, classes, width int)
TEXT ·weighVectors(SB), NOSPLIT, $0-48
	MOVQ utility+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ weights+16(FP), DX
	MOVQ lines+24(FP), CX
	MOVQ classes+32(FP), R8
	MOVQ width+40(FP), R9
	SHLQ $5, R9 // what the features of a class take

line:
	VBROADCASTSD belowAll<>(SB), Y1
	MOVQ         DI, R10
	MOVQ         R8, BX

class:
	VXORPD Y0, Y0, Y0
	XORQ   AX, AX

feature:
	VCVTPS2PD (SI)(AX*1), Y2
	VMULPD    (DX)(AX*2), Y2, Y2
	VADDPD    Y2, Y0, Y0
	ADDQ      $32, AX
	CMPQ      AX, R9
	JLT       feature

	ADDQ    R9, SI
	VMOVUPD Y0, (R10)
	VMAXPD  Y1, Y0, Y1 // what there was, unless this is larger
	ADDQ    $64, R10
	DECQ    BX
	JNZ     class

	MOVQ R8, BX

less:
	VMOVUPD (DI), Y0
	VSUBPD  Y1, Y0, Y0
	VMOVUPD Y0, (DI)
	ADDQ    $64, DI
	DECQ    BX
	JNZ     less

	DECQ CX
	JNZ  line
	VZEROUPPER
	RET

// func judgeVectors(chance, excess *float64, posterior *float32, likelihood, noise *float64, kinds *int32, lines, classes int)
TEXT ·judgeVectors(SB), NOSPLIT, $0-64
	MOVQ chance+0(FP), DI
	MOVQ posterior+16(FP), SI
	MOVQ noise+32(FP), DX
	MOVQ kinds+40(FP), BX
	MOVQ classes+56(FP), CX

line:
	VXORPD Y0, Y0, Y0 // the whole
	MOVQ   DI, R12
	XORQ   AX, AX

whole:
	VADDPD (R12), Y0, Y0
	ADDQ   $64, R12
	INCQ   AX
	CMPQ   AX, CX
	JLT    whole

	// The noise of the four rows.
	MOVLQSX (BX), R8
	IMULQ   CX, R8
	LEAQ    (DX)(R8*8), R8
	MOVLQSX 4(BX), R9
	IMULQ   CX, R9
	LEAQ    (DX)(R9*8), R9
	MOVLQSX 8(BX), R10
	IMULQ   CX, R10
	LEAQ    (DX)(R10*8), R10
	MOVLQSX 12(BX), R11
	IMULQ   CX, R11
	LEAQ    (DX)(R11*8), R11

	VXORPD Y1, Y1, Y1 // the sum
	MOVQ   DI, R12
	MOVQ   SI, R13
	XORQ   AX, AX

joint:
	VMOVUPD     (R12), Y2
	VDIVPD      Y0, Y2, Y2
	VMOVUPD     Y2, (R12)
	VMOVSD      (R8)(AX*8), X3
	VMOVHPD     (R9)(AX*8), X3, X3
	VMOVSD      (R10)(AX*8), X4
	VMOVHPD     (R11)(AX*8), X4, X4
	VINSERTF128 $1, X4, Y3, Y3
	VMULPD      Y3, Y2, Y2
	VADDPD      Y2, Y1, Y1
	VCVTPD2PSY  Y2, X2
	VMOVUPS     X2, (R13)
	ADDQ        $64, R12
	ADDQ        $32, R13
	INCQ        AX
	CMPQ        AX, CX
	JLT         joint

	VBROADCASTSD smallest<>(SB), Y2
	VMAXPD       Y1, Y2, Y1 // the sum, unless the smallest is larger
	MOVQ         likelihood+24(FP), R12
	VMOVUPD      Y1, (R12)
	ADDQ         $64, R12
	MOVQ         R12, likelihood+24(FP)
	MOVQ         excess+8(FP), R12
	XORQ         AX, AX

posterior:
	VCVTPS2PD  (SI), Y2
	VDIVPD     Y1, Y2, Y2
	VCVTPD2PSY Y2, X2
	VMOVUPS    X2, (SI)
	VCVTPS2PD  X2, Y2
	VSUBPD     (DI), Y2, Y2
	VMOVUPD    Y2, (R12)
	ADDQ       $32, SI
	ADDQ       $64, DI
	ADDQ       $64, R12
	INCQ       AX
	CMPQ       AX, CX
	JLT        posterior

	MOVQ R12, excess+8(FP)
	ADDQ $32, BX
	DECQ lines+48(FP)
	JNZ  line
	VZEROUPPER
	RET

// func weighWide(utility *float64, x *float32, weights *float64, lines, classes, width int)
TEXT ·weighWide(SB), NOSPLIT, $0-48
	MOVQ utility+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ weights+16(FP), DX
	MOVQ lines+24(FP), CX
	MOVQ classes+32(FP), R8
	MOVQ width+40(FP), R9
	SHLQ $5, R9 // what the features of a class take

line:
	VBROADCASTSD belowAll<>(SB), Z1
	MOVQ         DI, R10
	MOVQ         R8, BX

class:
	VPXORQ Z0, Z0, Z0
	XORQ   AX, AX

feature:
	VCVTPS2PD (SI)(AX*1), Z2
	VMULPD    (DX)(AX*2), Z2, Z2
	VADDPD    Z2, Z0, Z0
	ADDQ      $32, AX
	CMPQ      AX, R9
	JLT       feature

	ADDQ    R9, SI
	VMOVUPD Z0, (R10)
	VMAXPD  Z1, Z0, Z1 // what there was, unless this is larger
	ADDQ    $64, R10
	DECQ    BX
	JNZ     class

	MOVQ R8, BX

less:
	VMOVUPD (DI), Z0
	VSUBPD  Z1, Z0, Z0
	VMOVUPD Z0, (DI)
	ADDQ    $64, DI
	DECQ    BX
	JNZ     less

	DECQ CX
	JNZ  line
	VZEROUPPER
	RET

// NOISE points to the noise of a row.
#define NOISE(lane, pointer) \
	MOVLQSX 4*lane(BX), pointer; \
	IMULQ   CX, pointer; \
	LEAQ    (DX)(pointer*8), pointer

// func judgeWide(chance, excess *float64, posterior *float32, likelihood, noise *float64, kinds *int32, lines, classes int)
TEXT ·judgeWide(SB), NOSPLIT, $0-64
	MOVQ noise+32(FP), DX
	MOVQ kinds+40(FP), BX
	MOVQ classes+56(FP), CX

line:
	VPXORQ Z0, Z0, Z0 // the whole
	MOVQ   chance+0(FP), DI
	XORQ   AX, AX

whole:
	VADDPD (DI), Z0, Z0
	ADDQ   $64, DI
	INCQ   AX
	CMPQ   AX, CX
	JLT    whole

	NOISE(0, R8)
	NOISE(1, R9)
	NOISE(2, R10)
	NOISE(3, R11)
	NOISE(4, R12)
	NOISE(5, R13)
	NOISE(6, R14)
	NOISE(7, R15)

	VPXORQ Z1, Z1, Z1 // the sum
	MOVQ   chance+0(FP), DI
	MOVQ   posterior+16(FP), SI
	XORQ   AX, AX

joint:
	VMOVUPD      (DI), Z2
	VDIVPD       Z0, Z2, Z2
	VMOVUPD      Z2, (DI)
	VMOVSD       (R8)(AX*8), X3
	VMOVHPD      (R9)(AX*8), X3, X3
	VMOVSD       (R10)(AX*8), X4
	VMOVHPD      (R11)(AX*8), X4, X4
	VMOVSD       (R12)(AX*8), X5
	VMOVHPD      (R13)(AX*8), X5, X5
	VMOVSD       (R14)(AX*8), X6
	VMOVHPD      (R15)(AX*8), X6, X6
	VINSERTF128  $1, X4, Y3, Y3
	VINSERTF128  $1, X6, Y5, Y5
	VINSERTF64X4 $1, Y5, Z3, Z3
	VMULPD       Z3, Z2, Z2
	VADDPD       Z2, Z1, Z1
	VCVTPD2PS    Z2, Y2
	VMOVUPS      Y2, (SI)
	ADDQ         $64, DI
	ADDQ         $32, SI
	INCQ         AX
	CMPQ         AX, CX
	JLT          joint

	VBROADCASTSD smallest<>(SB), Z2
	VMAXPD       Z1, Z2, Z1 // the sum, unless the smallest is larger
	MOVQ         likelihood+24(FP), R8
	VMOVUPD      Z1, (R8)
	ADDQ         $64, R8
	MOVQ         R8, likelihood+24(FP)
	MOVQ         chance+0(FP), DI
	MOVQ         posterior+16(FP), SI
	MOVQ         excess+8(FP), R12
	XORQ         AX, AX

posterior:
	VCVTPS2PD (SI), Z2
	VDIVPD    Z1, Z2, Z2
	VCVTPD2PS Z2, Y2
	VMOVUPS   Y2, (SI)
	VCVTPS2PD Y2, Z2
	VSUBPD    (DI), Z2, Z2
	VMOVUPD   Z2, (R12)
	ADDQ      $32, SI
	ADDQ      $64, DI
	ADDQ      $64, R12
	INCQ      AX
	CMPQ      AX, CX
	JLT       posterior

	MOVQ R12, excess+8(FP)
	MOVQ DI, chance+0(FP)
	MOVQ SI, posterior+16(FP)
	ADDQ $32, BX
	DECQ lines+48(FP)
	JNZ  line
	VZEROUPPER
	RET

// ADD adds a product to a sum. The product of a chance with a deviation is in Y4.
#define ADD(deviation, sum) \
	VMULPD deviation, Y4, Y5; \
	VADDPD Y5, sum, sum

// BEGIN and NEXT begin and end a loop over the classes that count.
#define BEGIN(loop) \
	MOVQ R11, R8; \
	MOVQ R10, R9; \
	MOVQ R12, AX; \
loop: \
	VMOVUPD (R8), Y4

#define NEXT(loop) \
	ADDQ R14, R8; \
	ADDQ R14, R9; \
	DECQ AX; \
	JNZ  loop

// func addVectors(sums *float64, x *float32, chance, excess, deviations *float64, lines, classes, width int)
//
// Classes are left out of the curvature where they count for no row of a line. R12 is how many count, R13 what the deviations of all
// classes take, R14 those of one, and R15 its features. The means lie behind the deviations and the products.
TEXT ·addVectors(SB), NOSPLIT, $0-64
	MOVQ  x+8(FP), SI
	MOVQ  chance+16(FP), DX
	MOVQ  excess+24(FP), BX
	MOVQ  width+56(FP), R14
	SHLQ  $6, R14
	MOVQ  classes+48(FP), R13
	IMULQ R14, R13

line:
	MOVQ R14, R15
	SHRQ $1, R15
	MOVQ sums+0(FP), CX
	MOVQ deviations+32(FP), R11
	LEAQ (R11)(R13*2), R11
	MOVQ classes+48(FP), R9
	SHLQ $6, R9
	MOVQ SI, R10
	MOVQ width+56(FP), DI
	SUBQ $2, DI
	JLT  last

	// Y0 and Y2 are the means of two features, Y1 and Y3 their gradients.
pair:
	VXORPD  Y0, Y0, Y0
	VXORPD  Y2, Y2, Y2
	VMOVUPD (CX), Y1
	VMOVUPD 64(CX), Y3
	MOVQ    R10, R8
	XORQ    AX, AX

classOfPair:
	VMOVUPD   (DX)(AX*1), Y4
	VMOVUPD   (BX)(AX*1), Y5
	VCVTPS2PD (R8), Y6
	VCVTPS2PD 32(R8), Y7
	VMULPD    Y6, Y4, Y8
	VADDPD    Y8, Y0, Y0
	VMULPD    Y6, Y5, Y6
	VADDPD    Y6, Y1, Y1
	VMULPD    Y7, Y4, Y4
	VADDPD    Y4, Y2, Y2
	VMULPD    Y7, Y5, Y7
	VADDPD    Y7, Y3, Y3
	ADDQ      R15, R8
	ADDQ      $64, AX
	CMPQ      AX, R9
	JLT       classOfPair

	VMOVUPD Y0, (R11)
	VMOVUPD Y2, 64(R11)
	VMOVUPD Y1, (CX)
	VMOVUPD Y3, 64(CX)
	ADDQ    $128, CX
	ADDQ    $128, R11
	ADDQ    $64, R10
	SUBQ    $2, DI
	JGE     pair

last:
	CMPQ    DI, $-2
	JEQ     deviations
	VXORPD  Y0, Y0, Y0
	VMOVUPD (CX), Y1
	XORQ    AX, AX

classOfLast:
	VCVTPS2PD (R10), Y6
	VMULPD    (DX)(AX*1), Y6, Y8
	VADDPD    Y8, Y0, Y0
	VMULPD    (BX)(AX*1), Y6, Y6
	VADDPD    Y6, Y1, Y1
	ADDQ      R15, R10
	ADDQ      $64, AX
	CMPQ      AX, R9
	JLT       classOfLast

	VMOVUPD Y0, (R11)
	VMOVUPD Y1, (CX)
	ADDQ    $64, CX

deviations:
	MOVQ         deviations+32(FP), R8
	LEAQ         (R8)(R13*2), R11
	VBROADCASTSD leastChance<>(SB), Y6
	XORQ         R12, R12
	MOVQ         classes+48(FP), DI

class:
	VMOVUPD   (DX), Y0
	VCMPPD    $5, Y6, Y0, Y1 // not less
	VMOVMSKPD Y1, AX
	TESTL     AX, AX
	JEQ       passed
	VANDPD    Y1, Y0, Y0
	LEAQ      (R8)(R13*1), R9
	XORQ      AX, AX

feature:
	VCVTPS2PD (SI)(AX*1), Y2
	VSUBPD    (R11)(AX*2), Y2, Y2
	VMOVUPD   Y2, (R8)(AX*2)
	VMULPD    Y2, Y0, Y2
	VMOVUPD   Y2, (R9)(AX*2)
	ADDQ      $32, AX
	CMPQ      AX, R15
	JLT       feature
	ADDQ      R14, R8
	INCQ      R12

passed:
	ADDQ  R15, SI
	ADDQ  $64, DX
	ADDQ  $64, BX
	DECQ  DI
	JNZ   class
	TESTQ R12, R12
	JEQ   next

	// R11 is where the products of a feature lie, R10 the deviations of this one and later ones, R15 how many features are left.
	MOVQ deviations+32(FP), R11
	ADDQ R13, R11
	MOVQ width+56(FP), R15

own:
	MOVQ R11, R10
	SUBQ R13, R10
	MOVQ R15, DI

others:
	CMPQ DI, $4
	JLT  few
	VMOVUPD (CX), Y0
	VMOVUPD 64(CX), Y1
	VMOVUPD 128(CX), Y2
	VMOVUPD 192(CX), Y3
	BEGIN(four)
	ADD((R9), Y0)
	ADD(64(R9), Y1)
	ADD(128(R9), Y2)
	ADD(192(R9), Y3)
	NEXT(four)
	VMOVUPD Y0, (CX)
	VMOVUPD Y1, 64(CX)
	VMOVUPD Y2, 128(CX)
	VMOVUPD Y3, 192(CX)
	ADDQ $256, CX
	ADDQ $256, R10
	SUBQ $4, DI
	JMP  others

few:
	CMPQ    DI, $2
	JGT     isThree
	JEQ     isTwo
	TESTQ   DI, DI
	JEQ     done
	VMOVUPD (CX), Y0
	BEGIN(one)
	ADD((R9), Y0)
	NEXT(one)
	VMOVUPD Y0, (CX)
	ADDQ    $64, CX
	JMP     done

isTwo:
	VMOVUPD (CX), Y0
	VMOVUPD 64(CX), Y1
	BEGIN(two)
	ADD((R9), Y0)
	ADD(64(R9), Y1)
	NEXT(two)
	VMOVUPD Y0, (CX)
	VMOVUPD Y1, 64(CX)
	ADDQ    $128, CX
	JMP     done

isThree:
	VMOVUPD (CX), Y0
	VMOVUPD 64(CX), Y1
	VMOVUPD 128(CX), Y2
	BEGIN(three)
	ADD((R9), Y0)
	ADD(64(R9), Y1)
	ADD(128(R9), Y2)
	NEXT(three)
	VMOVUPD Y0, (CX)
	VMOVUPD Y1, 64(CX)
	VMOVUPD Y2, 128(CX)
	ADDQ    $192, CX

done:
	ADDQ $64, R11
	DECQ R15
	JNZ  own

next:
	DECQ lines+40(FP)
	JNZ  line
	VZEROUPPER
	RET

// addFour and addFive hold the curvature in registers from Z0 on, the means from Z15 on, and from Z20 on first the gradient, then the
// deviations of a class. MEAN adds a feature of a class, whose chance is in Z25 and excess in Z30, to the mean and to the gradient.
#define MEAN(x, mean, gradient) \
	VCVTPS2PD x, Z29; \
	VMULPD Z29, Z25, Z26; \
	VADDPD Z26, mean, mean; \
	VMULPD Z29, Z30, Z29; \
	VADDPD Z29, gradient, gradient

#define DEVIATION(x, mean, deviation) \
	VCVTPS2PD x, deviation; \
	VSUBPD mean, deviation, deviation

// ADDPRODUCT adds the product in Z26, times a deviation, to a sum.
#define ADDPRODUCT(deviation, sum) \
	VMULPD deviation, Z26, Z27; \
	VADDPD Z27, sum, sum

// func addFour(sums *float64, x *float32, chance, excess *float64, lines, classes int)
TEXT ·addFour(SB), NOSPLIT, $0-48
	MOVQ sums+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ chance+16(FP), DX
	MOVQ excess+24(FP), BX
	MOVQ lines+32(FP), CX
	MOVQ classes+40(FP), R9
	SHLQ $6, R9
	VBROADCASTSD leastChance<>(SB), Z28
	VMOVUPD 256(DI), Z0
	VMOVUPD 320(DI), Z1
	VMOVUPD 384(DI), Z2
	VMOVUPD 448(DI), Z3
	VMOVUPD 512(DI), Z4
	VMOVUPD 576(DI), Z5
	VMOVUPD 640(DI), Z6
	VMOVUPD 704(DI), Z7
	VMOVUPD 768(DI), Z8
	VMOVUPD 832(DI), Z9

line:
	VPXORQ Z15, Z15, Z15
	VPXORQ Z16, Z16, Z16
	VPXORQ Z17, Z17, Z17
	VPXORQ Z18, Z18, Z18
	VMOVUPD 0(DI), Z20
	VMOVUPD 64(DI), Z21
	VMOVUPD 128(DI), Z22
	VMOVUPD 192(DI), Z23
	MOVQ SI, R8
	XORQ AX, AX

mean:
	VMOVUPD (DX)(AX*1), Z25
	VMOVUPD (BX)(AX*1), Z30
	MEAN(0(R8), Z15, Z20)
	MEAN(32(R8), Z16, Z21)
	MEAN(64(R8), Z17, Z22)
	MEAN(96(R8), Z18, Z23)
	ADDQ $128, R8
	ADDQ $64, AX
	CMPQ AX, R9
	JLT mean

	VMOVUPD Z20, 0(DI)
	VMOVUPD Z21, 64(DI)
	VMOVUPD Z22, 128(DI)
	VMOVUPD Z23, 192(DI)
	XORQ AX, AX

class:
	VMOVUPD (DX)(AX*1), Z25
	VCMPPD $5, Z28, Z25, K1 // not less
	KORTESTB K1, K1
	JEQ passed
	VMOVAPD.Z Z25, K1, Z25
	DEVIATION(0(SI), Z15, Z20)
	DEVIATION(32(SI), Z16, Z21)
	DEVIATION(64(SI), Z17, Z22)
	DEVIATION(96(SI), Z18, Z23)
	VMULPD Z20, Z25, Z26
	ADDPRODUCT(Z20, Z0)
	ADDPRODUCT(Z21, Z1)
	ADDPRODUCT(Z22, Z2)
	ADDPRODUCT(Z23, Z3)
	VMULPD Z21, Z25, Z26
	ADDPRODUCT(Z21, Z4)
	ADDPRODUCT(Z22, Z5)
	ADDPRODUCT(Z23, Z6)
	VMULPD Z22, Z25, Z26
	ADDPRODUCT(Z22, Z7)
	ADDPRODUCT(Z23, Z8)
	VMULPD Z23, Z25, Z26
	ADDPRODUCT(Z23, Z9)

passed:
	ADDQ $128, SI
	ADDQ $64, AX
	CMPQ AX, R9
	JLT class

	ADDQ R9, DX
	ADDQ R9, BX
	DECQ CX
	JNZ line

	VMOVUPD Z0, 256(DI)
	VMOVUPD Z1, 320(DI)
	VMOVUPD Z2, 384(DI)
	VMOVUPD Z3, 448(DI)
	VMOVUPD Z4, 512(DI)
	VMOVUPD Z5, 576(DI)
	VMOVUPD Z6, 640(DI)
	VMOVUPD Z7, 704(DI)
	VMOVUPD Z8, 768(DI)
	VMOVUPD Z9, 832(DI)
	VZEROUPPER
	RET

// func addFive(sums *float64, x *float32, chance, excess *float64, lines, classes int)
TEXT ·addFive(SB), NOSPLIT, $0-48
	MOVQ sums+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ chance+16(FP), DX
	MOVQ excess+24(FP), BX
	MOVQ lines+32(FP), CX
	MOVQ classes+40(FP), R9
	SHLQ $6, R9
	VBROADCASTSD leastChance<>(SB), Z28
	VMOVUPD 320(DI), Z0
	VMOVUPD 384(DI), Z1
	VMOVUPD 448(DI), Z2
	VMOVUPD 512(DI), Z3
	VMOVUPD 576(DI), Z4
	VMOVUPD 640(DI), Z5
	VMOVUPD 704(DI), Z6
	VMOVUPD 768(DI), Z7
	VMOVUPD 832(DI), Z8
	VMOVUPD 896(DI), Z9
	VMOVUPD 960(DI), Z10
	VMOVUPD 1024(DI), Z11
	VMOVUPD 1088(DI), Z12
	VMOVUPD 1152(DI), Z13
	VMOVUPD 1216(DI), Z14

line:
	VPXORQ Z15, Z15, Z15
	VPXORQ Z16, Z16, Z16
	VPXORQ Z17, Z17, Z17
	VPXORQ Z18, Z18, Z18
	VPXORQ Z19, Z19, Z19
	VMOVUPD 0(DI), Z20
	VMOVUPD 64(DI), Z21
	VMOVUPD 128(DI), Z22
	VMOVUPD 192(DI), Z23
	VMOVUPD 256(DI), Z24
	MOVQ SI, R8
	XORQ AX, AX

mean:
	VMOVUPD (DX)(AX*1), Z25
	VMOVUPD (BX)(AX*1), Z30
	MEAN(0(R8), Z15, Z20)
	MEAN(32(R8), Z16, Z21)
	MEAN(64(R8), Z17, Z22)
	MEAN(96(R8), Z18, Z23)
	MEAN(128(R8), Z19, Z24)
	ADDQ $160, R8
	ADDQ $64, AX
	CMPQ AX, R9
	JLT mean

	VMOVUPD Z20, 0(DI)
	VMOVUPD Z21, 64(DI)
	VMOVUPD Z22, 128(DI)
	VMOVUPD Z23, 192(DI)
	VMOVUPD Z24, 256(DI)
	XORQ AX, AX

class:
	VMOVUPD (DX)(AX*1), Z25
	VCMPPD $5, Z28, Z25, K1 // not less
	KORTESTB K1, K1
	JEQ passed
	VMOVAPD.Z Z25, K1, Z25
	DEVIATION(0(SI), Z15, Z20)
	DEVIATION(32(SI), Z16, Z21)
	DEVIATION(64(SI), Z17, Z22)
	DEVIATION(96(SI), Z18, Z23)
	DEVIATION(128(SI), Z19, Z24)
	VMULPD Z20, Z25, Z26
	ADDPRODUCT(Z20, Z0)
	ADDPRODUCT(Z21, Z1)
	ADDPRODUCT(Z22, Z2)
	ADDPRODUCT(Z23, Z3)
	ADDPRODUCT(Z24, Z4)
	VMULPD Z21, Z25, Z26
	ADDPRODUCT(Z21, Z5)
	ADDPRODUCT(Z22, Z6)
	ADDPRODUCT(Z23, Z7)
	ADDPRODUCT(Z24, Z8)
	VMULPD Z22, Z25, Z26
	ADDPRODUCT(Z22, Z9)
	ADDPRODUCT(Z23, Z10)
	ADDPRODUCT(Z24, Z11)
	VMULPD Z23, Z25, Z26
	ADDPRODUCT(Z23, Z12)
	ADDPRODUCT(Z24, Z13)
	VMULPD Z24, Z25, Z26
	ADDPRODUCT(Z24, Z14)

passed:
	ADDQ $160, SI
	ADDQ $64, AX
	CMPQ AX, R9
	JLT class

	ADDQ R9, DX
	ADDQ R9, BX
	DECQ CX
	JNZ line

	VMOVUPD Z0, 320(DI)
	VMOVUPD Z1, 384(DI)
	VMOVUPD Z2, 448(DI)
	VMOVUPD Z3, 512(DI)
	VMOVUPD Z4, 576(DI)
	VMOVUPD Z5, 640(DI)
	VMOVUPD Z6, 704(DI)
	VMOVUPD Z7, 768(DI)
	VMOVUPD Z8, 832(DI)
	VMOVUPD Z9, 896(DI)
	VMOVUPD Z10, 960(DI)
	VMOVUPD Z11, 1024(DI)
	VMOVUPD Z12, 1088(DI)
	VMOVUPD Z13, 1152(DI)
	VMOVUPD Z14, 1216(DI)
	VZEROUPPER
	RET

// func turnVectors(rows *float32, posterior *float32, lines, step int)
//
// Four vectors of the lanes of a class become, for each lane, a vector of its four classes; that of the next lane lies 256 vectors on.
TEXT ·turnVectors(SB), NOSPLIT, $0-32
	MOVQ rows+0(FP), DI
	MOVQ posterior+8(FP), SI
	MOVQ lines+16(FP), CX
	MOVQ step+24(FP), DX
	SHLQ $2, DX
	LEAQ 16384(DI), R8

turn:
	VMOVUPS      (SI), Y0
	VMOVUPS      32(SI), Y1
	VMOVUPS      64(SI), Y2
	VMOVUPS      96(SI), Y3
	VUNPCKLPS    Y1, Y0, Y4
	VUNPCKHPS    Y1, Y0, Y5
	VUNPCKLPS    Y3, Y2, Y6
	VUNPCKHPS    Y3, Y2, Y7
	VUNPCKLPD    Y6, Y4, Y0 // of lanes 0 and 4
	VUNPCKHPD    Y6, Y4, Y1
	VUNPCKLPD    Y7, Y5, Y2
	VUNPCKHPD    Y7, Y5, Y3
	VMOVUPS      X0, (DI)
	VMOVUPS      X1, 4096(DI)
	VMOVUPS      X2, 8192(DI)
	VMOVUPS      X3, 12288(DI)
	VEXTRACTF128 $1, Y0, (R8)
	VEXTRACTF128 $1, Y1, 4096(R8)
	VEXTRACTF128 $1, Y2, 8192(R8)
	VEXTRACTF128 $1, Y3, 12288(R8)
	ADDQ         DX, SI
	ADDQ         $16, DI
	ADDQ         $16, R8
	DECQ         CX
	JNZ          turn
	VZEROUPPER
	RET

// func countVectors(counts *float64, rows *float32, labels, places *int32, count, classes int)
TEXT ·countVectors(SB), NOSPLIT, $0-48
	MOVQ counts+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ labels+16(FP), DX
	MOVQ places+24(FP), BX
	MOVQ count+32(FP), CX
	MOVQ classes+40(FP), R8
	SHLQ $3, R8
	XORQ R9, R9

count:
	MOVLQSX   (DX)(R9*4), AX
	TESTQ     AX, AX
	JLT       counted // no label
	MOVLQSX   (BX)(AX*4), AX
	IMULQ     R8, AX
	VCVTPS2PD (SI), Y0
	VADDPD    (DI)(AX*1), Y0, Y0
	VMOVUPD   Y0, (DI)(AX*1)

counted:
	ADDQ $16, SI
	INCQ R9
	CMPQ R9, CX
	JLT  count
	VZEROUPPER
	RET
