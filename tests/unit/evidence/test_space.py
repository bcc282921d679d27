from kyvsim.evidence.seeds import KindName
from kyvsim.evidence.space import space_of
from kyvsim.model.mention import About, Mention


def kinds(*written):
    return space_of([Mention(About.KIND, (), written)], {}).kinds


def test_a_kind_is_found_in_its_version():
    assert kinds("*/*/Deployment") == (KindName("apps", "v1", "Deployment"),)


def test_pods_bring_their_controllers():
    found = {one.kind for one in kinds("*/*/Pod")}
    assert found >= {"Pod", "Deployment", "CronJob", "ReplicationController"}


def test_a_guessed_kind_is_spelled_as_it_is_elsewhere():
    found = kinds("*/*/PodSecurityPolicy", "policy/v1beta1/Podsecuritypolicy")
    assert {one.kind for one in found} == {"PodSecurityPolicy"}


def test_subresources_are_told_and_not_tried():
    space = space_of([Mention(About.KIND, (), ("*/v1/Pod/exec",))], {})
    assert space.kinds == ()
    assert space.subresources == ("*/v1/Pod/exec",)


def test_users_are_those_that_are_named():
    mention = Mention(About.REQUEST, ("userInfo", "groups"), ("admins",))
    assert ("system:authenticated", "admins") in [
        one.groups for one in space_of([mention], {}).users
    ]


def test_labels_of_namespaces_come_one_by_one_and_together():
    mentions = [
        Mention(About.NAMESPACE, ("metadata", "labels", name), (value,))
        for name, value in (("a", "1"), ("b", "2"))
    ]
    found = space_of(mentions, {}).namespace_labels
    assert {"a": "1"} in found
    assert {"a": "1", "b": "2"} in found


def test_kinds_are_in_no_group_but_their_own():
    assert kinds("apps/v1/Pod") == ()
    assert kinds("example.com/v1/Thing") == (KindName("example.com", "v1", "Thing"),)


def test_who_sends_a_request_has_a_name():
    mention = Mention(About.REQUEST, ("userInfo", "username"), ("*", "jane"))
    names = [one.username for one in space_of([mention], {}).users]
    assert "jane" in names
    assert "" not in names
