"""Boards and chips by the processor they have, so that users need not know its name."""

from __future__ import annotations

# Chips with the core that is emulated for them. A family is named where all its members have that core.
CORES: dict[str, tuple[str, ...]] = {
    "cortex-m0": ("stm32f0", "nrf51", "microbit-v1"),
    "cortex-m0+": ("rp2040", "pico", "samd21", "nano33iot", "mkr", "stm32g0", "stm32l0", "stm32c0"),
    "cortex-m3": ("stm32f1", "stm32f2", "stm32l1", "lpc1768", "sam3x8e", "due", "blue-pill"),
    "cortex-m4f": (
        "stm32f3", "stm32f4", "stm32g4", "stm32l4", "stm32wb", "nrf52832", "nrf52833", "nrf52840", "nrf52",
        "nano33ble", "microbit-v2", "samd51", "same51", "uno-r4", "ra4m1",
    ),
    "cortex-m7": ("stm32f7", "stm32h7", "imxrt1062", "teensy4", "same70"),
    "cortex-m33": ("rp2350", "pico2", "nrf53", "nrf91", "stm32u5", "stm32l5", "stm32h5"),
    "cortex-m23": ("saml10", "saml11"),
    "cortex-m55": ("stm32n6", "alif-e3"),
    "cortex-m85": ("ra8m1",),
    "esp32": ("esp32-s3",),
    "esp8266": ("esp32-s2",),
    "rv32imac": ("rv32imc", "esp32-c2", "esp32-c3", "esp32-c6", "esp32-h2", "gd32vf103", "fe310"),
    "rv32imafc": ("esp32-p4",),
    "atmega328p": ("uno", "uno-r3", "arduino-uno", "nano", "pro-mini"),
}  # fmt: skip
ALIASES = {name: core for core, names in CORES.items() for name in names}
# What has no core here, or more than one, and what to write instead.
OTHERS = {
    "nano33": "is a family: nano33ble (cortex-m4f) or nano33iot (cortex-m0+)",
    "microbit": "is a family: microbit-v1 (cortex-m0) or microbit-v2 (cortex-m4f)",
    "stm32": "is a family: write its member, such as stm32f4 (cortex-m4f)",
    "mega": "has an ATmega2560, which is not emulated; the nearest is atmega328p",
}
