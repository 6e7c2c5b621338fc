"""docs/reference/machine_yaml.md says what the schema says."""

from pathlib import Path

from dyn_nodes.model.schema_doc import key_tables

DOCUMENT = Path(__file__).resolve().parents[2] / 'docs' / 'reference' / 'machine_yaml.md'


def test_the_document_has_the_key_tables_of_the_schema():
    assert key_tables().strip() in DOCUMENT.read_text(encoding='utf-8')
