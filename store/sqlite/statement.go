package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A statement is a prepared one of the writing connection, which one goroutine uses. It
// asks the driver itself: package sql would make two dozen values for each call, for a pool,
// a context and conversions that the writer has no use for.
//
// Its contexts are never a caller's: cancelling a statement that writes rolls back the whole
// transaction, other callers' work included.
type statement struct {
	driver.Stmt
	args []driver.NamedValue // memory for those of a call
	row  []driver.Value      // the same for a row
}

// maxStatements is how many statements a connection keeps prepared. The lists of numbers in
// some of them have lengths of their own; all shapes together would hold megabytes for each
// file that is open.
const maxStatements = 64

// trim lets go of all statements where there are too many. No statement may be in use.
func (t *tx) trim() {
	if len(t.stmts) <= maxStatements {
		return
	}
	t.closeStatements()
}

// closeStatements ends what was prepared. What it says was said when the statement ran.
func (t *tx) closeStatements() {
	for _, s := range t.stmts {
		_ = s.Close()
	}
	clear(t.stmts)
}

// stmt returns the statement of a query, prepared once for the connection.
func (t *tx) stmt(query string) (*statement, error) {
	if s := t.stmts[query]; s != nil {
		return s, nil
	}
	var prepared driver.Stmt
	err := t.conn.Raw(func(c any) (err error) {
		prepared, err = c.(driver.ConnPrepareContext).PrepareContext(context.Background(), query)
		return err
	})
	if err != nil {
		return nil, err
	}
	s := &statement{Stmt: prepared}
	t.stmts[query] = s
	return s, nil
}

// bind brings arguments to the form of the driver.
func (s *statement) bind(args []any) error {
	s.args = s.args[:0]
	for i, arg := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return fmt.Errorf("argument %d: %w", i+1, err)
		}
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return nil
}

// run runs a statement that has no rows.
func (s *statement) run(args []any) (driver.Result, error) {
	defer s.forget()
	if err := s.bind(args); err != nil {
		return nil, err
	}
	return s.Stmt.(driver.StmtExecContext).ExecContext(context.Background(), s.args)
}

// ask runs a query for rows of so many columns, and returns room for one.
func (s *statement) ask(args []any, columns int) (driver.Rows, []driver.Value, error) {
	if err := s.bind(args); err != nil {
		return nil, nil, err
	}
	if cap(s.row) < columns {
		s.row = make([]driver.Value, columns)
	}
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(context.Background(), s.args)
	return rows, s.row[:columns], err
}

// forget lets go of what a call was about: it must not stay in memory.
func (s *statement) forget() {
	clear(s.args)
	clear(s.row)
}

func (t *tx) exec(query string, args ...any) error {
	s, err := t.stmt(query)
	if err == nil {
		_, err = t.wrote(s.run(args))
	}
	return err
}

// wrote counts a statement that did what it should.
func (t *tx) wrote(result driver.Result, err error) (driver.Result, error) {
	if err == nil {
		t.written++
	}
	return result, err
}

// execCount returns how many rows were changed.
func (t *tx) execCount(query string, args ...any) (int64, error) {
	s, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	result, err := t.wrote(s.run(args))
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// insertRow inserts a row and returns its number.
func (t *tx) insertRow(query string, args ...any) (n int64, err error) {
	s, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	result, err := t.wrote(s.run(args))
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// row runs a query for at most one row; sql.ErrNoRows when there is none.
func (t *tx) row(query string, args []any, dest ...any) (err error) {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	defer s.forget()
	if !strings.HasPrefix(query, "SELECT") {
		t.written++
	}
	rows, values, err := s.ask(args, len(dest))
	if err != nil {
		return err
	}
	if err = rows.Next(values); err == nil {
		err = take(values, dest...)
	} else if errors.Is(err, io.EOF) {
		err = sql.ErrNoRows
	}
	return ended(rows, err)
}

// ended closes rows after an outcome. What closing says is what the last step said already.
func ended(rows driver.Rows, err error) error {
	if closed := rows.Close(); err == nil {
		return closed
	}
	return err
}

// rows runs a query and calls row for each result of so many columns. What a row holds may
// be kept; the slice that holds it may not.
func (t *tx) rows(query string, args []any, columns int, row func([]driver.Value) error) (err error) {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	defer s.forget()
	if !strings.HasPrefix(query, "SELECT") {
		t.written++
	}
	rows, values, err := s.ask(args, columns)
	if err != nil {
		return err
	}
	for {
		if err := rows.Next(values); errors.Is(err, io.EOF) {
			return ended(rows, nil)
		} else if err != nil {
			return ended(rows, err)
		}
		if err := row(values); err != nil {
			return ended(rows, err)
		}
	}
}

// take puts the values of a row into variables.
func take(row []driver.Value, dest ...any) error {
	for i, value := range row {
		if !takeOne(value, dest[i]) {
			return fmt.Errorf("column %d holds a %T, which does not fit a %T", i+1, value, dest[i])
		}
	}
	return nil
}

func takeOne(value driver.Value, dest any) (fits bool) {
	switch d := dest.(type) {
	case *int64:
		*d, fits = value.(int64)
	case *int:
		var n int64
		n, fits = value.(int64)
		*d = int(n)
	case *bool:
		var n int64
		n, fits = value.(int64)
		*d = n != 0
	case *string:
		*d, fits = value.(string)
	case *[]byte:
		if *d, fits = value.([]byte); value == nil {
			fits = true
		}
	}
	return fits
}
