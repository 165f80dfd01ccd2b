-- active_space: the space whose vectors are searched; 0 while there are no vectors.
-- A file from before has what most of its records have vectors in.
INSERT INTO meta (key, value)
  SELECT 'active_space', coalesce((SELECT space FROM vector GROUP BY space ORDER BY count(*) DESC, space DESC LIMIT 1), 0);

-- dropped: the seq of the latest change that removed vectors of the space alone; a
-- search index of the space that is older must be built anew.
ALTER TABLE space ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;
