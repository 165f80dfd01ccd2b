-- What a record is searched by beside its text: subject and predicate of a fact. NULL: nothing.
ALTER TABLE record ADD COLUMN heading BLOB;
UPDATE record SET heading = CAST(trim(json_extract(CAST(body AS TEXT), '$.subject') || ' ' || json_extract(CAST(body AS TEXT), '$.predicate')) AS BLOB)
WHERE kind = 'fact' AND json_extract(CAST(body AS TEXT), '$.subject') <> '';

-- Their vectors were made without it. The next sweep makes them anew.
DELETE FROM vector WHERE record IN (SELECT n FROM record WHERE heading IS NOT NULL);
