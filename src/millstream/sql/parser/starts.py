"""The rules of the grammar that parsing can begin with."""

STATEMENT = "single_statement"
TEST_STATEMENT = "test_statement"
EXPRESSION = "single_expression"
TYPE = "single_type"
SCHEMA = "schema"
