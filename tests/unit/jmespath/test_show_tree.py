from kyvsim.jmespath.show_tree import show_tree


def test_tree():
    assert show_tree("a.b[1:] | [?x > `2`]") == (
        "ASTPipe {\n"
        "  children: {\n"
        "    ASTSubexpression {\n"
        "      children: {\n"
        "        ASTField {\n"
        '          value: "a"\n'
        "        }\n"
        "        ASTProjection {\n"
        "          children: {\n"
        "            ASTIndexExpression {\n"
        "              children: {\n"
        "                ASTField {\n"
        '                  value: "b"\n'
        "                }\n"
        "                ASTSlice {\n"
        "                  value: 1::\n"
        "                }\n"
        "            }\n"
        "            ASTIdentity {\n"
        "            }\n"
        "        }\n"
        "    }\n"
        "    ASTFilterProjection {\n"
        "      children: {\n"
        "        ASTIdentity {\n"
        "        }\n"
        "        ASTIdentity {\n"
        "        }\n"
        "        ASTComparator {\n"
        "          value: tGT\n"
        "          children: {\n"
        "            ASTField {\n"
        '              value: "x"\n'
        "            }\n"
        "            ASTLiteral {\n"
        "              value: 2\n"
        "            }\n"
        "        }\n"
        "    }\n"
        "}\n"
    )
