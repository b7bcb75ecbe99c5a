"""verify: does what was emitted agree with the original model?"""
