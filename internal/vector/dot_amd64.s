#include "textflag.h"

// func dotsAVX2(query *int16, rows *int8, n, stride int, sums *int32, count int)
//
// Sixteen bytes of the row are widened to 16 bits, multiplied with sixteen codes
// of the query and added in pairs to 32 bits, which cannot overflow: a pair is at
// most 2·128·128. Four sums hide the latency of the additions.
TEXT ·dotsAVX2(SB), NOSPLIT, $0-48
	MOVQ  query+0(FP), R8
	MOVQ  rows+8(FP), R9
	MOVQ  n+16(FP), R10
	MOVQ  stride+24(FP), R11
	MOVQ  sums+32(FP), R12
	MOVQ  count+40(FP), R13

row:
	MOVQ  R8, SI
	MOVQ  R9, DI
	MOVQ  R10, CX
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3

by64:
	CMPQ      CX, $64
	JLT       by16
	VPMOVSXBW (DI), Y4
	VPMOVSXBW 16(DI), Y5
	VPMOVSXBW 32(DI), Y6
	VPMOVSXBW 48(DI), Y7
	VPMADDWD  (SI), Y4, Y4
	VPMADDWD  32(SI), Y5, Y5
	VPMADDWD  64(SI), Y6, Y6
	VPMADDWD  96(SI), Y7, Y7
	VPADDD    Y4, Y0, Y0
	VPADDD    Y5, Y1, Y1
	VPADDD    Y6, Y2, Y2
	VPADDD    Y7, Y3, Y3
	ADDQ      $64, DI
	ADDQ      $128, SI
	SUBQ      $64, CX
	JMP       by64

by16:
	CMPQ      CX, $16
	JLT       sum
	VPMOVSXBW (DI), Y4
	VPMADDWD  (SI), Y4, Y4
	VPADDD    Y4, Y0, Y0
	ADDQ      $16, DI
	ADDQ      $32, SI
	SUBQ      $16, CX
	JMP       by16

sum:
	VPADDD       Y1, Y0, Y0
	VPADDD       Y3, Y2, Y2
	VPADDD       Y2, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, (R12)
	ADDQ         $4, R12
	ADDQ         R11, R9
	DECQ         R13
	JNZ          row
	VZEROUPPER
	RET
