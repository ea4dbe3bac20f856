"""The 256 words of the short authentication string: plain, and distinct in their first four letters.

Owns the list only; `session.short_words` picks from it. Both screens must hold the same list, so it never changes.
"""

from __future__ import annotations

from typing import Final

_TEXT: Final = """
acorn amber anchor apple april arrow autumn badge bagel bamboo banana barrel basket beach beaver bell berry
bicycle birch biscuit blanket blossom boat bottle branch bread bridge bronze bucket butter cabin cactus camel
candle canoe canyon carbon cargo carpet carrot castle cedar cello chalk cherry chess chimney cinema circus
citrus clay clock cloud clover coconut coffee comet copper coral cotton cradle crane crayon cricket crystal
cushion daisy dancer desert diamond dolphin donkey dragon drum eagle east echo eclipse elbow elephant ember
emerald engine falcon feather fern fiddle finch flag flame flute forest fossil fountain fox galaxy garden garlic
ginger giraffe glacier globe glove goat golden granite grape guitar hammer hamster harbor harvest hazel helmet
hermit heron hickory honey horizon hotel igloo indigo iron island ivory jacket jaguar jasmine jelly jewel jigsaw
jungle juniper kayak kettle kitten kiwi ladder lagoon lantern lavender lemon leopard library lilac lion lizard
llama lobster lotus magnet mango maple marble market meadow melon mercury meteor mirror monkey morning mountain
muffin museum napkin needle nickel noodle north nutmeg oasis ocean olive onion opera orange orbit orchid otter
oyster paddle palace panda papaya parrot peanut pebble pelican pencil penguin pepper piano picnic pigeon pilot
planet plum pocket polar pony poppy potato prairie pumpkin puppet purple pyramid quartz quilt rabbit raccoon
radish rainbow raven ribbon river robin rocket saddle saffron salmon sandal satin scarlet shadow shell silver
spider spruce squirrel summer sunset swallow tango teapot temple thunder tiger timber tomato tulip tunnel turtle
umbrella valley vanilla velvet violin walnut walrus window winter yellow zebra zeppelin
"""
WORDS: Final = tuple(_TEXT.split())
