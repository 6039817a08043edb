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
	SHLQ $4, R9 // what the features of a class take

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
	ADDQ      $16, AX
	CMPQ      AX, R9
	JLT       feature

	ADDQ    R9, SI
	VMOVUPD Y0, (R10)
	VMAXPD  Y1, Y0, Y1 // what there was, unless this is larger
	ADDQ    $32, R10
	DECQ    BX
	JNZ     class

	MOVQ R8, BX

less:
	VMOVUPD (DI), Y0
	VSUBPD  Y1, Y0, Y0
	VMOVUPD Y0, (DI)
	ADDQ    $32, DI
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
	ADDQ   $32, R12
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
	ADDQ        $32, R12
	ADDQ        $16, R13
	INCQ        AX
	CMPQ        AX, CX
	JLT         joint

	VBROADCASTSD smallest<>(SB), Y2
	VMAXPD       Y1, Y2, Y1 // the sum, unless the smallest is larger
	MOVQ         likelihood+24(FP), R12
	VMOVUPD      Y1, (R12)
	ADDQ         $32, R12
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
	ADDQ       $16, SI
	ADDQ       $32, DI
	ADDQ       $32, R12
	INCQ       AX
	CMPQ       AX, CX
	JLT        posterior

	MOVQ R12, excess+8(FP)
	ADDQ $16, BX
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
	SHLQ  $5, R14
	MOVQ  classes+48(FP), R13
	IMULQ R14, R13

line:
	MOVQ R14, R15
	SHRQ $1, R15
	MOVQ sums+0(FP), CX
	MOVQ deviations+32(FP), R11
	LEAQ (R11)(R13*2), R11
	MOVQ classes+48(FP), R9
	SHLQ $5, R9
	MOVQ SI, R10
	MOVQ width+56(FP), DI
	SUBQ $2, DI
	JLT  last

	// Y0 and Y2 are the means of two features, Y1 and Y3 their gradients.
pair:
	VXORPD  Y0, Y0, Y0
	VXORPD  Y2, Y2, Y2
	VMOVUPD (CX), Y1
	VMOVUPD 32(CX), Y3
	MOVQ    R10, R8
	XORQ    AX, AX

classOfPair:
	VMOVUPD   (DX)(AX*1), Y4
	VMOVUPD   (BX)(AX*1), Y5
	VCVTPS2PD (R8), Y6
	VCVTPS2PD 16(R8), Y7
	VMULPD    Y6, Y4, Y8
	VADDPD    Y8, Y0, Y0
	VMULPD    Y6, Y5, Y6
	VADDPD    Y6, Y1, Y1
	VMULPD    Y7, Y4, Y4
	VADDPD    Y4, Y2, Y2
	VMULPD    Y7, Y5, Y7
	VADDPD    Y7, Y3, Y3
	ADDQ      R15, R8
	ADDQ      $32, AX
	CMPQ      AX, R9
	JLT       classOfPair

	VMOVUPD Y0, (R11)
	VMOVUPD Y2, 32(R11)
	VMOVUPD Y1, (CX)
	VMOVUPD Y3, 32(CX)
	ADDQ    $64, CX
	ADDQ    $64, R11
	ADDQ    $32, R10
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
	ADDQ      $32, AX
	CMPQ      AX, R9
	JLT       classOfLast

	VMOVUPD Y0, (R11)
	VMOVUPD Y1, (CX)
	ADDQ    $32, CX

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
	ADDQ      $16, AX
	CMPQ      AX, R15
	JLT       feature
	ADDQ      R14, R8
	INCQ      R12

passed:
	ADDQ  R15, SI
	ADDQ  $32, DX
	ADDQ  $32, BX
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
	VMOVUPD 32(CX), Y1
	VMOVUPD 64(CX), Y2
	VMOVUPD 96(CX), Y3
	BEGIN(four)
	ADD((R9), Y0)
	ADD(32(R9), Y1)
	ADD(64(R9), Y2)
	ADD(96(R9), Y3)
	NEXT(four)
	VMOVUPD Y0, (CX)
	VMOVUPD Y1, 32(CX)
	VMOVUPD Y2, 64(CX)
	VMOVUPD Y3, 96(CX)
	ADDQ $128, CX
	ADDQ $128, R10
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
	ADDQ    $32, CX
	JMP     done

isTwo:
	VMOVUPD (CX), Y0
	VMOVUPD 32(CX), Y1
	BEGIN(two)
	ADD((R9), Y0)
	ADD(32(R9), Y1)
	NEXT(two)
	VMOVUPD Y0, (CX)
	VMOVUPD Y1, 32(CX)
	ADDQ    $64, CX
	JMP     done

isThree:
	VMOVUPD (CX), Y0
	VMOVUPD 32(CX), Y1
	VMOVUPD 64(CX), Y2
	BEGIN(three)
	ADD((R9), Y0)
	ADD(32(R9), Y1)
	ADD(64(R9), Y2)
	NEXT(three)
	VMOVUPD Y0, (CX)
	VMOVUPD Y1, 32(CX)
	VMOVUPD Y2, 64(CX)
	ADDQ    $96, CX

done:
	ADDQ $32, R11
	DECQ R15
	JNZ  own

next:
	DECQ lines+40(FP)
	JNZ  line
	VZEROUPPER
	RET
