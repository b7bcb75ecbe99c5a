"""Programs in whole numbers: features of 16 or 8 bits, sums of 32."""
