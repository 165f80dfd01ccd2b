-- Where the events of each type are in each block of 256, and from when to when they are; of the
-- type '' all of them are. Blocks are described in their order, when they are whole.
CREATE TABLE event_span (
  type      TEXT NOT NULL,
  block     INTEGER NOT NULL, -- from 1
  first_seq INTEGER NOT NULL,
  last_seq  INTEGER NOT NULL,
  first_at  INTEGER NOT NULL,
  last_at   INTEGER NOT NULL,
  PRIMARY KEY (type, block)
) STRICT, WITHOUT ROWID;

INSERT INTO event_span SELECT '', (seq + 255) / 256, min(seq), max(seq), min(occurred_at), max(occurred_at) FROM event
  WHERE seq <= (SELECT max(seq) FROM event) / 256 * 256 GROUP BY 2;

INSERT INTO event_span SELECT type, (seq + 255) / 256, min(seq), max(seq), min(occurred_at), max(occurred_at) FROM event
  WHERE seq <= (SELECT max(seq) FROM event) / 256 * 256 AND type <> '' GROUP BY 2, 1;

CREATE TRIGGER event_block AFTER INSERT ON event WHEN new.seq % 256 = 0 BEGIN
  INSERT INTO event_span SELECT '', new.seq / 256, min(seq), max(seq), min(occurred_at), max(occurred_at) FROM event
    WHERE seq > new.seq - 256 AND seq <= new.seq;
  INSERT INTO event_span SELECT type, new.seq / 256, min(seq), max(seq), min(occurred_at), max(occurred_at) FROM event
    WHERE seq > new.seq - 256 AND seq <= new.seq AND type <> '' GROUP BY type;
END;
