"""The functions of each library, one table each."""

import pytest

from kyvsim.cel import environment
from kyvsim.cel.libraries import EXTENSIONS as EXTENSION_LIBRARIES
from kyvsim.cel.libraries import KUBERNETES
from kyvsim.cel.types import DYN

TABLES = {
    "strings": [
        ("'abc'.endsWith('bc') && !'abc'.endsWith('ab')", True),
        ("'abc'.charAt(1) + 'abc'.charAt(3)", "b"),
        ("'abc'.charAt(4)", "error: index out of range: 4"),
        ("'tacocat'.indexOf('c', 3)", 4),
        ("'abc'.indexOf('', 9)", 3),
        ("'abcabc'.lastIndexOf('b', 3)", 1),
        ("'abc'.lastIndexOf('z')", -1),
        ("'aÀB'.lowerAscii() + 'bÀß'.upperAscii()", "aÀbBÀß"),
        ("'aaa'.replace('a', 'b', 2)", "bba"),
        ("'aaa'.replace('a', 'b', -1)", "bbb"),
        ("'a,b,c'.split(',', 2)", ["a", "b,c"]),
        ("'a,b'.split(',', 0)", []),
        ("'abc'.split('')", ["a", "b", "c"]),
        ("''.split(',')", [""]),
        ("'abcd'.substring(1, 3)", "bc"),
        ("'abc'.substring(2, 1)", "error: invalid substring range. start: 2, end: 1"),
        ("' \\t a '.trim()", "a"),
        ("['a', 'b'].join('-')", "a-b"),
        ("[dyn('a'), dyn(1)].join()", "error: join: invalid input: 1"),
        ("strings.quote('a\"\\n')", '"a\\"\\n"'),
        ("dyn(1).trim()", "error: no such overload: trim(int)"),
    ],
    "lists": [
        ("[1, 2, 3].slice(1, 2)", [2]),
        ("[1].slice(0, 5)", "error: cannot slice(0, 5), list is length 1"),
        ("[[[1], [2]]].flatten(2)", [1, 2]),
        ("['b', 'a'].sort()", ["a", "b"]),
        ("['a'].sort()", ["a"]),
        ("[dyn(1), dyn('a')].sort()", "error: list elements must have the same type"),
        ("lists.range(3).reverse()", [2, 1, 0]),
        ("[dyn(1), dyn(1.0), dyn(2)].distinct()", [1, 2]),
        (
            "dyn(1).distinct()",
            (
                "error: internal error: interface conversion: types.Int is not traits.Lister: "
                "missing method Contains"
            ),
        ),
        ("[1, 2].isSorted() && !['b', 'a'].isSorted()", True),
        ("[0.0 / 0.0, 1.0].isSorted()", True),
        ("[dyn(1), dyn('a')].isSorted()", True),
        ("[1.5, 2.5].sum()", 4.0),
        ("[1, 3, 2].max() - [1, 3, 2].min()", 2),
        ("[object].filter(x, false).min()", "error: min called on empty list"),
        ("[1, 2, 2].lastIndexOf(2) + [1].indexOf(7)", 1),
    ],
    "sets": [
        ("sets.contains([1, 2], [1])", True),
        ("sets.equivalent([1, 1], [1])", True),
        ("sets.intersects([1], [2])", False),
    ],
    "regex": [
        ("'abc 123'.find('[0-9]+')", "123"),
        ("'abc'.find('z')", ""),
        ("'12 a 34'.findAll('[0-9]+')", ["12", "34"]),
        ("'12 a 34'.findAll('[0-9]+', 1)", ["12"]),
        ("'aab'.findAll('a*')", ["aa", ""]),
        ("'aéa'.findAll('\\\\B')", []),
        ("'aéa'.matches('\\\\B')", False),
        ("'aéa'.matches('a' + '\\\\B')", False),
        ("dyn(string).matches('^str')", True),
        ("dyn(type([1])).matches('map')", False),
        ("dyn(string).matches('^' + 'str')", "error: no such overload: matches"),
        (
            "'a'.find('[')",
            "refused: program instantiation failed: error parsing regexp: missing closing ]: `[`",
        ),
    ],
    "urls": [
        ("url('https://u:p@Example.com:80/a b?k=1&k=c+d#f').getHost()", "Example.com:80"),
        ("url('https://[::1]:80/').getHostname() + url('https://[::1]:80/').getPort()", "::180"),
        ("url('https://a/b c').getEscapedPath()", "/b%20c"),
        ("url('https://a/?k=1&k=c+d').getQuery()", {"k": ["1", "c d"]}),
        ("url('HTTP://a').getScheme()", "http"),
        ("isURL('a') || isURL('https://a:x/')", False),
        (
            "url('a')",
            'error: URL parse error during conversion from string: parse "a": invalid URI for request',  # noqa: E501 — one message
        ),
    ],
    "networks": [
        ("ip('0.0.0.0').isUnspecified() && !ip('::1').isUnspecified()", True),
        ("ip('::1').isLoopback() && ip('::1').family() == 6", True),
        ("string(ip('2001:DB8::0:1'))", "2001:db8::1"),
        ("ip.isCanonical('::0001')", False),
        ("ip('224.0.0.1').isLinkLocalMulticast() && ip('fe80::1').isLinkLocalUnicast()", True),
        ("ip('255.255.255.255').isGlobalUnicast() || ip('127.0.0.1').isGlobalUnicast()", False),
        ("isIP('::ffff:1.2.3.4') || isIP('1.2.3')", False),
        (
            "cidr('10.0.0.0/8').containsIP('10.1.1.1') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",  # noqa: E501 — one message
            True,
        ),
        (
            "string(cidr('10.1.2.3/8').masked()) + string(cidr('10.1.2.3/8').prefixLength())",
            "10.0.0.0/88",
        ),
        ("isCIDR('10.0.0.0/33')", False),
        (
            "ip('256.1.1.1')",
            'error: IP Address "256.1.1.1" parse error during conversion from string: ParseAddr("256.1.1.1"): IPv4 field has value >255',  # noqa: E501 — one message
        ),
    ],
    "quantities": [
        ("quantity('1.5Gi').isGreaterThan(quantity('1Gi'))", True),
        ("quantity('1') == quantity('1000m')", True),
        ("quantity('500m').isInteger() || !quantity('5k').isInteger()", False),
        ("quantity('1.0').isInteger() || quantity('1000m').isInteger()", False),
        ("quantity('10Ti').asInteger()", 10 << 40),
        ("quantity('100Ti').asInteger()", "error: cannot convert value to integer"),
        ("quantity('10Ei').asInteger()", "error: cannot convert value to integer"),
        ("quantity('500m').asInteger()", "error: cannot convert value to integer"),
        ("quantity('1').add(2).sub(quantity('1')).asInteger()", 2),
        ("sign(quantity('-1'))", -1),
        ("quantity('100m').asApproximateFloat()", 0.1),
        ("isQuantity('1GiB')", False),
        ("quantity(object)", "error: no such overload: quantity(double)"),
    ],
    "semvers": [
        ("semver('1.2.3').isLessThan(semver('1.10.0'))", True),
        ("semver('v1.2', true).minor() + semver('1.2.3').patch()", 5),
        ("semver('1.0.0-a').compareTo(semver('1.0.0'))", -1),
        ("isSemver('1.2') || !isSemver('v01.2', true)", False),
        ("semver('1.2')", "error: No Major.Minor.Patch elements found"),
    ],
    "formats": [
        ("format.qualifiedName().validate('a/b').hasValue()", False),
        (
            "format.qualifiedName().validate('-/b').value()[0].startsWith('prefix part a lower')",
            True,
        ),
        ("format.dns1035LabelPrefix().validate('a-').hasValue()", False),
        ("format.dns1123SubdomainPrefix().validate('A').hasValue()", True),
        ("format.dns1123Label().validate('a-b').hasValue()", False),
        ("format.dns1123Label().validate('a.b').value()", ["must not contain dots"]),
        ("format.named('nope').hasValue()", False),
        ("format.uuid().validate('x').value()", ["does not match the UUID format"]),
        ("format.date().validate('2021-13-01').value()", ["invalid date"]),
        ("format.qualifiedName().validate('a/').value()[0]", "name part must be non-empty"),
        ("format.labelValue().validate('').hasValue()", False),
    ],
    "times": [
        ("timestamp('2023-07-14T10:30:45.123Z').getSeconds() + duration('65s').getSeconds()", 110),
        ("timestamp('2023-07-14T10:30:45.123Z').getMonth()", 6),
        ("timestamp('2023-07-14T10:30:45.123Z').getDayOfYear()", 194),
        ("timestamp('2023-07-14T10:30:45.123Z').getDayOfWeek()", 5),
        ("timestamp('2023-07-14T10:30:45.123Z').getHours('America/Los_Angeles')", 3),
        ("timestamp('2023-07-14T10:30:45.123Z').getMinutes('-01:15')", 15),
        ("timestamp('2023-07-14T10:30:45.123Z').getMilliseconds()", 123),
        (
            "timestamp('2023-07-14T10:30:45.123Z').getHours('Nowhere')",
            "error: unknown time zone Nowhere",
        ),
        ("duration('-90m').getHours()", -1),
    ],
    "optionals": [
        ("optional.ofNonZeroValue('').hasValue()", False),
        ("optional.ofNonZeroValue([1]).value()", [1]),
        ("[optional.of(1), optional.none()].unwrapOpt()", [1]),
        ("[1, 2].first().value() + [1, 2].last().value()", 3),
        ("[1].filter(x, false).first().hasValue()", False),
        ("optional.of(1) == optional.of(1)", True),
    ],
    "authorizer": [
        (
            "authorizer.group('').resource('p').subresource('s').labelSelector('a=b').fieldSelector('a=b').check('list').allowed()",
            False,
        ),
        ("authorizer.group('').resource('pods').name('x').check('get').allowed()", False),
        ("authorizer.requestResource.check('get').errored()", False),
        ("authorizer.path(' ')", "error: path must not be empty"),
        ("authorizer.serviceAccount('a', 'B')", "error: Invalid service account name"),
        (
            " || ".join(["authorizer.group('').resource('p').check('v').allowed()"] * 3),
            "error: operation cancelled: actual cost limit exceeded",
        ),
    ],
}
EXTENSIONS = {
    "math": [
        ("math.bitShiftLeft(1, 0) + math.bitShiftRight(5, 0)", 6),
        ("math.greatest(1, 2.5) + math.greatest(1, 2, 3)", "error: no such overload"),
        ("math.least([3, 1, 2])", 1),
        ("math.greatest(-1)", -1),
        ("math.least(0.0 / 0.0, 1.0)", "error: NaN values cannot be ordered: math.@min"),
        ("math.greatest([])", "refused: 1:15: math.greatest() invalid single argument value"),
        (
            "math.greatest(1, 'a')",
            "refused: 1:18: math.greatest() simple literal arguments must be numeric",
        ),
        ("math.least()", "refused: 1:1: math.least() requires at least one argument"),
        ("math.round(-0.5) + math.round(2.5) + math.ceil(1.2) + math.floor(-1.2)", 2.0),
        ("math.trunc(-1.9)", -1.0),
        ("math.isNaN(math.sqrt(-1)) && math.isInf(1.0 / 0.0) && math.isFinite(1.0)", True),
        ("math.abs(-9223372036854775807 - 1)", "error: integer overflow"),
        ("math.sign(-7) + int(math.sign(7u))", 0),
        ("math.bitAnd(6, 3) + math.bitOr(6, 3) + math.bitXor(6, 3) + math.bitNot(0)", 13),
        ("math.bitShiftRight(-1, 60)", 15),
        ("math.bitShiftLeft(1, 63) < 0", True),
        ("math.bitShiftLeft(1, 64)", 0),
        ("math.bitShiftLeft(1, -1)", "error: math.bitShiftLeft() negative offset: -1"),
    ],
    "encoders": [
        ("base64.encode(b'hi')", "aGk="),
        ("base64.decode('aGk')", b"hi"),
        ("base64.decode('aGk=')", b"hi"),
        ("base64.decode('a?')", "error: illegal base64 data at input byte 1"),
        ("base64.decode('aGk=a')", "error: illegal base64 data at input byte 3"),
    ],
    "regex groups": [
        ("regex.replace('abc', '(a)(b)', '\\\\2\\\\1')", "bac"),
        ("regex.replace('aaa', 'a', 'b', 2)", "bba"),
        ("regex.replace('aaa', 'a', 'b', 0)", "aaa"),
        ("regex.replace('é1', '[0-9]', '\\\\\\\\')", "é\\"),
        (
            "regex.replace('a', '(a)', '\\\\2')",
            "error: replacement string references group 2 but regex has only 1 group(s)",
        ),
        (
            "regex.replace('a', 'a', 'x\\\\')",
            "error: invalid replacement string: 'x\\' \\ not allowed at end",
        ),
        ("regex.extract('item-A', 'item-(.)').value()", "A"),
        ("regex.extract('ab', '(z)?b').hasValue()", False),
        ("regex.extract('ab', 'z*').value()", ""),
        ("regex.extractAll('aXbX', '(X)?')", ["X", "X"]),
        (
            "regex.extract('a', '(a)(b)')",
            'error: regular expression has more than one capturing group: "(a)(b)"',
        ),
    ],
    "bindings": [
        ("cel.bind(x, 2, x * x)", 4),
        ("cel.bind(x, 1 / 0, 5)", 5),
        ("cel.bind(x, object, [1].map(y, x + 1.0))", [2.5]),
    ],
}
ROWS = [(library, *row) for library, rows in TABLES.items() for row in rows]


@pytest.mark.parametrize(("library", "text", "expected"), ROWS)
def test_function(value_of, library, text, expected):
    assert value_of(text, 1.5) == expected, library


EXTENDED = [(library, *row) for library, rows in EXTENSIONS.items() for row in rows]


@pytest.mark.parametrize(("library", "text", "expected"), EXTENDED)
def test_function_of_an_extension(value_in, library, text, expected):
    env = environment((*KUBERNETES, *EXTENSION_LIBRARIES)).with_variables(("object", DYN))
    assert value_in(env, text, [1.5]) == expected, library
