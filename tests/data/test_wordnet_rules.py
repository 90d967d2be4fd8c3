"""The rules for class lists: each on a graph small enough to check by hand."""

import pytest

from helpers.data.hypernyms import Hypernyms
from helpers.data.wordnet_rules import (
    draw_near,
    external_classes,
    find_covered,
    keywords,
    named_nodes,
    near_candidates,
    overlaps,
)

GRAPH = Hypernyms(
    {
        "thing": (),
        "tool": ("thing",),
        "hand tool": ("tool",),
        "plunger": ("hand tool",),
        "opener": ("hand tool",),
        "can opener": ("opener",),
        "edge tool": ("tool",),
        "plane": ("hand tool", "edge tool"),
        "knife": ("edge tool",),
        "cleaver": ("knife",),
        "table knife": ("knife",),
        "animal": ("thing",),
        "bee": ("animal",),
        "honeybee": ("bee",),
        "ant": ("animal",),
    },
    names={"knife": ("knife", "blade")},
)
CLASSES = ["plunger", "can opener", "cleaver", "plane", "bee"]


def no_noun(word):
    return False


class TestCovered:
    def test_equal_or_below(self):
        """A class is covered by itself or by what is above it, never by what is below or beside."""
        found = find_covered(["honeybee", "bee", "ant", "animal"], ["bee", "knife"], GRAPH)
        assert found == {"honeybee": ("bee", "descendant"), "bee": ("bee", "same")}

    def test_the_nearest_is_named(self):
        """Of several that cover a class, itself or the lowest, in whatever order they come."""
        for by in (["tool", "edge tool", "thing"], ["thing", "edge tool", "tool"]):
            assert find_covered(["knife"], by, GRAPH) == {"knife": ("edge tool", "descendant")}
            assert find_covered(["knife"], [*by, "knife"], GRAPH) == {"knife": ("knife", "same")}

    def test_nothing(self):
        """No classes, or none to be covered by: nothing is covered."""
        assert find_covered([], ["bee"], GRAPH) == find_covered(["bee"], [], GRAPH) == {}

    def test_an_unknown_class_is_refused(self):
        with pytest.raises(ValueError, match="node: 'wasp'"):
            find_covered(["wasp"], ["bee"], GRAPH)


class TestNear:
    def test_below_any_parent_at_any_depth(self):
        """The plane has two parents: through its second the cleaver is near, not only siblings."""
        assert near_candidates(["plunger"], CLASSES, GRAPH) == {
            "can opener": ("hand tool",),
            "plane": ("hand tool",),
        }
        found = near_candidates(["plane"], CLASSES, GRAPH)
        assert found["cleaver"] == ("edge tool",)
        assert list(found) == ["plunger", "can opener", "cleaver"]

    def test_the_roles_are_disjoint_and_cover_all(self):
        """Each class is in-distribution, a candidate or external, and none is two of these."""
        known = ["plunger", "bee"]
        candidates = near_candidates(known, CLASSES, GRAPH)
        outside = external_classes(known, candidates, CLASSES)
        assert outside == ("cleaver",)
        assert sorted([*known, *candidates, *outside]) == sorted(CLASSES)

    def test_a_root_has_no_parent_and_so_no_candidates(self):
        assert near_candidates(["thing"], ["thing", "bee"], GRAPH) == {}

    def test_the_draw(self):
        """Of the candidates, each once, in their order; by the seed alone; never too many."""
        candidates = [str(number) for number in range(40)]
        draws = [draw_near(candidates, 20, seed=seed) for seed in range(20)]
        for drawn in draws:
            assert len(set(drawn)) == 20
            assert [one for one in candidates if one in drawn] == list(drawn)
        assert len(set(draws)) == 20
        assert draw_near(candidates, 20, seed=3) == draws[3]
        assert {one for drawn in draws for one in drawn} == set(candidates)
        assert draw_near(candidates, 40, seed=0) == tuple(candidates)
        with pytest.raises(ValueError, match="count: 0 to 40 candidates expected, got 41"):
            draw_near(candidates, 41, seed=0)


class TestFar:
    def test_names_of_nodes(self):
        """The rule beside CIFAR: only the whole name of a node, by any of its names."""
        names = ["Blade", "bread_knife", "edge-tool"]
        assert named_nodes(names, GRAPH) == {"Blade": "knife", "edge-tool": "edge tool"}

    @pytest.mark.parametrize(
        ("name", "rules"),
        [
            ("bee", ["i"]),
            ("opener", ["ii", "iii"]),  # the plunger is beside it, the can opener below
            ("honeybee", ["iii"]),  # below a class
            ("animal", ["ii", "iii"]),
            ("ant", ["ii"]),
            ("plunger", ["i", "ii"]),
            ("blade", ["ii", "iii"]),
            ("thing", ["iii"]),
            ("table knife", ["ii"]),
            ("bread", []),
        ],
    )
    def test_each_rule(self, name, rules):
        """All rules that hold are given in their order."""
        found = overlaps([name], CLASSES, GRAPH)
        assert [overlap.rule for overlap in found] == rules
        for overlap in found:
            assert overlap.known in CLASSES and overlap.keyword == name

    def test_what_is_below_a_sibling(self):
        """The animals' sibling, tools, is no class but contains some."""
        (found,) = overlaps(["animal"], ["cleaver"], GRAPH)
        assert found == ("ii", "animal", "animal", "cleaver")
        assert overlaps(["animal"], ["cleaver"], GRAPH, within_siblings=False) == ()
        assert overlaps(["animal"], ["tool"], GRAPH, within_siblings=False)[0].rule == "ii"

    def test_any_keyword_is_enough(self):
        """The first that a rule holds for is named."""
        (found,) = overlaps(["swiss", "army", "knife", "blade"], ["cleaver"], GRAPH)
        assert found == ("iii", "knife", "knife", "cleaver")


class TestKeywords:
    @pytest.mark.parametrize(
        ("name", "variant", "origin"),
        [
            ("cup_cakes", "cup cake", "singular"),
            ("donuts", "donut", "singular"),
            ("oysters", "oyster", "singular"),
            ("011.billiards", "billiard", "singular"),
            ("039.chopsticks", "chopstick", "singular"),
            ("101.head-phones", "head phone", "singular"),
            ("badlands", "badland", "singular"),
            ("artists_loft", "artist loft", "singular"),
            ("butchers_shop", "butcher shop", "singular"),
            ("childs_room", "child room", "singular"),
            ("cup_cakes", "cupcakes", "joined"),
            ("hot_dog", "hotdog", "joined"),
            ("037.chess-board", "chessboard", "joined"),
            ("061.dumb-bell", "dumbbell", "joined"),
            ("101.head-phones", "headphones", "joined"),
            ("barndoor", "barn door", "split"),
            ("fishpond", "fish pond", "split"),
            ("shopfront", "shop front", "split"),
            ("038.chimp", "chimpanzee", "abbreviation"),
            ("artists_loft", "artist's loft", "possessive"),
            ("butchers_shop", "butcher's shop", "possessive"),
            ("childs_room", "child's room", "possessive"),
        ],
    )
    def test_the_papers_table_4(self, name, variant, origin):
        """Every variation that it lists is found, and said to be what it is."""
        assert keywords(name)[variant] == origin

    def test_the_parts_of_a_compound(self):
        """The paper's example: cup cakes yields these six, and nothing but spellings of them."""
        found = keywords("cup_cakes", is_noun=no_noun)
        assert set(found) == {
            "cup", "cups", "cake", "cakes", "cupcake", "cupcakes", "cup cake", "cup cakes",
        }  # fmt: skip
        assert (found["cup cakes"], found["cup"], found["cups"]) == ("name", "part", "plural")
        whole = keywords("cup_cakes", parts=False, is_noun=no_noun)
        assert set(whole) == {"cup cakes", "cup cake", "cupcakes", "cupcake"}

    def test_runs_of_words_are_parts(self):
        """Neighbours in their order, and no others."""
        found = keywords("ice-cream-cone", is_noun=no_noun)
        assert {"ice cream", "cream cone", "ice", "cream", "cone"} <= set(found)
        assert not {"ice cone", "cream ice"} & set(found)

    @pytest.mark.parametrize(
        ("name", "first"),
        [
            ("015.bonsai-101", "bonsai"),
            ("airport_terminal", "airport terminal"),
            ("bakery/shop", "bakery shop"),
            ("church/indoor", "church"),
            ("temple/asia", "temple asia"),
            ("001.ak47", "ak47"),
        ],
    )
    def test_how_data_sets_spell_names(self, name, first):
        """Numbers, suffixes and views go; what stands behind a slash stays."""
        assert next(iter(keywords(name, is_noun=no_noun))) == first

    def test_which_words_are_split(self):
        """Wherever both halves may be: at least three letters before, four behind; plurals, too."""
        nouns = {"gar", "den", "garden", "bath", "room", "pan", "cake"}
        assert keywords("bathroom", is_noun=nouns.__contains__)["room"] == "split"
        assert keywords("pancakes", is_noun=nouns.__contains__)["cake"] == "split"
        assert set(keywords("garden", is_noun=nouns.__contains__)) == {"garden", "gardens"}

    @pytest.mark.parametrize(
        ("name", "singular"),
        [("fries", "fry"), ("sandwiches", "sandwich"), ("boxes", "box"), ("socks", "sock")],
    )
    def test_plurals(self, name, singular):
        """An ending is brought back to that of the singular."""
        assert keywords(name, is_noun=no_noun) == {name: "name", singular: "singular"}
        assert keywords(singular, is_noun=no_noun)[name] == "plural"

    @pytest.mark.parametrize("name", ["gas", "glass", "bus", "iris", "octopus", "chess"])
    def test_what_ends_like_a_plural(self, name):
        """These are singular, and no shorter word is made of them."""
        assert min(map(len, keywords(name, is_noun=no_noun))) == len(name)

    def test_a_name_without_words_is_refused(self):
        with pytest.raises(ValueError, match="name: at least one word expected, got '_'"):
            keywords("_")
