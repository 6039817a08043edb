//go:build !purego

#include "textflag.h"

DATA leastChance<>+0(SB)/8, $0x3e112e0be826d695 // 1e-9
GLOBL leastChance<>(SB), RODATA|NOPTR, $8

// FOUR writes to Y0 to Y3 four features of four classes, from an offset of SI on.
#define FOUR(at) \
	VMOVUPS   (at)(SI), X0; \
	VMOVUPS   (at+32)(SI), X1; \
	VMOVUPS   (at+64)(SI), X2; \
	VMOVUPS   (at+96)(SI), X3; \
	VUNPCKLPS X1, X0, X4; \
	VUNPCKHPS X1, X0, X5; \
	VUNPCKLPS X3, X2, X6; \
	VUNPCKHPS X3, X2, X7; \
	VUNPCKLPD X6, X4, X0; \
	VUNPCKHPD X6, X4, X1; \
	VUNPCKLPD X7, X5, X2; \
	VUNPCKHPD X7, X5, X3; \
	VCVTPS2PD X0, Y0; \
	VCVTPS2PD X1, Y1; \
	VCVTPS2PD X2, Y2; \
	VCVTPS2PD X3, Y3

// func weighVectors(utility *float64, x *float32, weights *[lanes]float64, groups, width int)
TEXT ·weighVectors(SB), NOSPLIT, $0-40
	MOVQ         utility+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         weights+16(FP), DX
	MOVQ         groups+24(FP), CX
	MOVQ         width+32(FP), BX
	VBROADCASTSD (DX), Y9
	VBROADCASTSD 8(DX), Y10
	VBROADCASTSD 16(DX), Y11
	VBROADCASTSD 24(DX), Y12
	VBROADCASTSD 32(DX), Y13
	VBROADCASTSD 40(DX), Y14
	VBROADCASTSD 48(DX), Y15

group:
	FOUR(0)
	VMULPD Y9, Y0, Y8
	VMULPD Y10, Y1, Y1
	VADDPD Y1, Y8, Y8
	VMULPD Y11, Y2, Y2
	VADDPD Y2, Y8, Y8
	VMULPD Y12, Y3, Y3
	VADDPD Y3, Y8, Y8
	CMPQ   BX, $4
	JLE    write

	FOUR(16)
	VMULPD       Y13, Y0, Y0
	VADDPD       Y0, Y8, Y8
	VMULPD       Y14, Y1, Y1
	VADDPD       Y1, Y8, Y8
	VMULPD       Y15, Y2, Y2
	VADDPD       Y2, Y8, Y8
	VBROADCASTSD 56(DX), Y4
	VMULPD       Y4, Y3, Y3
	VADDPD       Y3, Y8, Y8

write:
	VMOVUPD Y8, (DI)
	ADDQ    $32, DI
	ADDQ    $128, SI
	DECQ    CX
	JNZ     group
	VZEROUPPER
	RET

// ADD adds to a sum the product of a number in memory with a vector. It overwrites Y14.
#define ADD(number, vector, sum) \
	VBROADCASTSD number, Y14; \
	VMULPD       vector, Y14, Y14; \
	VADDPD       Y14, sum, sum

// func addRowVectors(to *moments, x *float32, chance, excess *float64, classes, width int)
//
// On the stack: the mean, a deviation and its product with the chance, 64 bytes each. The products of Y14 and Y15 are those of the
// deviation from 0 and from 4 on.
TEXT ·addRowVectors(SB), NOSPLIT, $192-48
	MOVQ to+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ chance+16(FP), DX
	MOVQ excess+24(FP), R8
	MOVQ classes+32(FP), CX
	MOVQ width+40(FP), BX

	// The gradient is in Y0 and Y1, the mean in Y2 and Y3.
	VMOVUPD (DI), Y0
	VMOVUPD 32(DI), Y1
	VXORPD  Y2, Y2, Y2
	VXORPD  Y3, Y3, Y3
	MOVQ    SI, R9
	XORQ    AX, AX

mean:
	VCVTPS2PD    (R9), Y4
	VCVTPS2PD    16(R9), Y5
	VBROADCASTSD (DX)(AX*8), Y6
	VBROADCASTSD (R8)(AX*8), Y7
	VMULPD       Y4, Y6, Y8
	VADDPD       Y8, Y2, Y2
	VMULPD       Y4, Y7, Y8
	VADDPD       Y8, Y0, Y0
	VMULPD       Y5, Y6, Y8
	VADDPD       Y8, Y3, Y3
	VMULPD       Y5, Y7, Y8
	VADDPD       Y8, Y1, Y1
	ADDQ         $32, R9
	INCQ         AX
	CMPQ         AX, CX
	JLT          mean

	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VMOVUPD Y2, (SP)
	VMOVUPD Y3, 32(SP)

	// Y0 to Y3 are moments.first, Y4 to Y7 moments.second, Y8 to Y11 moments.beside.
	VMOVUPD 64(DI), Y0
	VMOVUPD 96(DI), Y1
	VMOVUPD 128(DI), Y2
	VMOVUPD 160(DI), Y3
	VMOVUPD 192(DI), Y4
	VMOVUPD 224(DI), Y5
	VMOVUPD 256(DI), Y6
	VMOVUPD 288(DI), Y7
	VMOVUPD 320(DI), Y8
	VMOVUPD 352(DI), Y9
	VMOVUPD 384(DI), Y10
	VMOVUPD 416(DI), Y11
	XORQ    AX, AX

curvature:
	VMOVSD  (DX)(AX*8), X12
	VUCOMISD leastChance<>(SB), X12
	JB      next

	VBROADCASTSD X12, Y15          // the chance
	VCVTPS2PD    (SI), Y12
	VSUBPD       (SP), Y12, Y12    // the deviation
	VMULPD       Y12, Y15, Y13     // times the chance
	VMOVUPD      Y13, 128(SP)
	ADD(128(SP), Y12, Y0)
	ADD(136(SP), Y12, Y1)
	ADD(144(SP), Y12, Y2)
	ADD(152(SP), Y12, Y3)
	CMPQ         BX, $4
	JLE          next

	VCVTPS2PD 16(SI), Y12
	VSUBPD    32(SP), Y12, Y12
	VMOVUPD   Y12, 96(SP)
	VMULPD    Y12, Y15, Y15
	VMOVUPD   Y15, 160(SP)
	ADD(96(SP), Y13, Y8)
	ADD(160(SP), Y12, Y4)
	CMPQ      BX, $5
	JLE       next
	ADD(104(SP), Y13, Y9)
	ADD(112(SP), Y13, Y10)
	ADD(120(SP), Y13, Y11)
	ADD(168(SP), Y12, Y5)
	ADD(176(SP), Y12, Y6)
	ADD(184(SP), Y12, Y7)

next:
	ADDQ $32, SI
	INCQ AX
	CMPQ AX, CX
	JLT  curvature

	VMOVUPD Y0, 64(DI)
	VMOVUPD Y1, 96(DI)
	VMOVUPD Y2, 128(DI)
	VMOVUPD Y3, 160(DI)
	VMOVUPD Y4, 192(DI)
	VMOVUPD Y5, 224(DI)
	VMOVUPD Y6, 256(DI)
	VMOVUPD Y7, 288(DI)
	VMOVUPD Y8, 320(DI)
	VMOVUPD Y9, 352(DI)
	VMOVUPD Y10, 384(DI)
	VMOVUPD Y11, 416(DI)
	VZEROUPPER
	RET
