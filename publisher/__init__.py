"""The publisher: watches Kamaji's objects, concludes what happened to them and puts it on the exchange."""
