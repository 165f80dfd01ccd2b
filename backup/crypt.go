package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"filippo.io/age"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/plainfile"
)

// Keys encrypt backups, and open them again. The zero value neither encrypts nor opens.
type Keys struct {
	Recipients     []string // public keys of age, one of whose identities opens a backup
	PassphraseFile string   // a file that holds a passphrase, which encrypts and opens
	IdentityFile   string   // a file of identities of age, which open
}

// mostKeyBytes bounds a file of keys.
const mostKeyBytes = 1 << 20

// passphrase reads the passphrase: the file without the end of its line.
func (k *Keys) passphrase() (string, error) {
	data, err := k.read("backup.passphrase_file", k.PassphraseFile)
	if err != nil {
		return "", err
	}
	phrase := strings.TrimRight(string(data), "\r\n")
	if phrase == "" {
		return "", loci.Errorf(loci.Invalid, "backup.passphrase_file: the file %s is empty", k.PassphraseFile)
	}
	return phrase, nil
}

// read reads a file of keys, which a setting names.
func (k *Keys) read(setting, path string) ([]byte, error) {
	data, err := plainfile.ReadAny(path, mostKeyBytes) // some hand it over by a pipe
	if unfit, is := errors.AsType[*plainfile.UnfitError](err); is {
		return nil, loci.Errorf(loci.Invalid, "%s: %w", setting, unfit)
	}
	if err != nil {
		return nil, refused(setting+": the file "+path+" cannot be read", err)
	}
	return data, nil
}

// A sealer encrypts the files of one backup; nil leaves them as they are.
type sealer struct {
	to  []age.Recipient
	key []byte // what opens them, encrypted with the passphrase; nil: nobody but the recipients
}

// sealer is what the keys ask for; nil: nothing.
func (k *Keys) sealer() (*sealer, error) {
	switch {
	case len(k.Recipients) > 0 && k.PassphraseFile != "":
		return nil, loci.Errorf(loci.Invalid, "backup.recipients and backup.passphrase_file exclude each other: set one of them")
	case k.PassphraseFile != "":
		return k.sealerOfPhrase()
	case len(k.Recipients) == 0:
		return nil, nil
	}
	to := []age.Recipient{}
	for _, text := range k.Recipients {
		r, err := recipientOf(text)
		if err != nil {
			return nil, loci.Errorf(loci.Invalid, "backup.recipients: %w", err)
		}
		to = append(to, r)
	}
	return &sealer{to: to}, nil
}

// CheckRecipient refuses what is no public key of age.
func CheckRecipient(text string) error {
	_, err := recipientOf(text)
	return err
}

// recipientOf does not repeat the text, which may be the identity that belongs to the key.
func recipientOf(text string) (age.Recipient, error) {
	read, err := age.ParseRecipients(strings.NewReader(text))
	if err != nil || len(read) != 1 {
		return nil, loci.Errorf(loci.Invalid, "it must have public keys of age alone, such as age-keygen prints: each begins with age1")
	}
	return read[0], nil
}

// sealerOfPhrase makes a key for one backup and encrypts that: a passphrase is slow to try, on
// purpose, and there may be many files.
func (k *Keys) sealerOfPhrase() (*sealer, error) {
	phrase, err := k.passphrase()
	if err != nil {
		return nil, err
	}
	slow, err := age.NewScryptRecipient(phrase)
	if err != nil {
		return nil, err
	}
	own, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	var key bytes.Buffer
	w, err := age.Encrypt(&key, slow)
	if err == nil {
		_, err = io.WriteString(w, own.String()+"\n")
	}
	if err == nil {
		err = w.Close()
	}
	return &sealer{to: []age.Recipient{own.Recipient()}, key: key.Bytes()}, err
}

// name is that of a file when it is sealed.
func (s *sealer) name(name string) string {
	if s == nil {
		return name
	}
	return name + sealedEnd
}

// write writes a file into a directory and returns the digest of what lies there then.
func (s *sealer) write(dir, name string, from io.Reader) (digest string, err error) {
	if s == nil {
		return writeFile(dir, name, from)
	}
	read, write := io.Pipe()
	go func() {
		w, err := age.Encrypt(write, s.to...)
		if err == nil {
			_, err = io.Copy(w, from)
		}
		if err == nil {
			err = w.Close()
		}
		write.CloseWithError(err)
	}()
	digest, err = writeFile(dir, s.name(name), read)
	return digest, errors.Join(err, read.CloseWithError(err))
}

// writeFile writes a new file to the disk and returns its digest.
func writeFile(dir, name string, from io.Reader) (digest string, err error) {
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", refused("the file "+path+" cannot be made", err)
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), from)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if known := (*loci.Error)(nil); errors.As(err, &known) { // of what is read
		return "", err
	}
	if err != nil {
		return "", refused("the file "+path+" cannot be written", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// syncDir makes names in a directory durable, where the system can.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return refused("the directory "+dir+" cannot be read", err)
	}
	return errors.Join(d.Sync(), d.Close())
}

// An opener reads the files of one backup.
type opener struct {
	dir    string
	sealed bool
	with   []age.Identity
}

// opener finds out how a backup is encrypted, and opens it.
func (k *Keys) opener(dir string, digests map[string]string) (*opener, error) {
	o := &opener{dir: dir}
	if _, plain := digests[manifestName]; plain {
		return o, nil
	}
	if _, sealed := digests[manifestName+sealedEnd]; !sealed {
		return nil, damaged(dir, "it has no %s", manifestName)
	}
	o.sealed = true
	_, phrased := digests[keyName]
	switch {
	case phrased && k.PassphraseFile != "":
		return o, o.byPhrase(k)
	case phrased:
		return nil, loci.Errorf(loci.Invalid, "the backup %s is encrypted with a passphrase: set backup.passphrase_file", dir)
	case k.IdentityFile == "":
		return nil, loci.Errorf(loci.Invalid, "the backup %s is encrypted: set backup.identity_file to the file of a key that opens it", dir)
	}
	data, err := k.read("backup.identity_file", k.IdentityFile)
	if err != nil {
		return nil, err
	}
	if o.with, err = age.ParseIdentities(bytes.NewReader(data)); err != nil {
		return nil, loci.Errorf(loci.Invalid, "backup.identity_file: %s holds no identity of age, which begins with AGE-SECRET-KEY-", k.IdentityFile)
	}
	return o, nil
}

// byPhrase opens the key of the backup.
func (o *opener) byPhrase(k *Keys) error {
	phrase, err := k.passphrase()
	if err != nil {
		return err
	}
	slow, err := age.NewScryptIdentity(phrase)
	if err != nil {
		return err
	}
	data, err := readFile(filepath.Join(o.dir, keyName))
	if err != nil {
		return err
	}
	r, err := age.Decrypt(bytes.NewReader(data), slow)
	if err != nil {
		return o.wrongKey(err)
	}
	if o.with, err = age.ParseIdentities(r); err != nil {
		return o.wrongKey(err)
	}
	return nil
}

// wrongKey is the error for a key that does not fit.
func (o *opener) wrongKey(err error) error {
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return &loci.Error{
			Code: loci.Forbidden, Msg: "the backup " + o.dir + " is encrypted with another key", Err: err,
			Recovery: "Set backup.identity_file or backup.passphrase_file to the one that it was made for.",
		}
	}
	return damaged(o.dir, "it cannot be decrypted: %v", err)
}

// covers requires that there are digests of all files of a manifest, and of no others.
func (o *opener) covers(m *Manifest, digests map[string]string) error {
	end := ""
	if o.sealed {
		end = sealedEnd
	}
	want := 1
	if _, phrased := digests[keyName]; phrased && o.sealed {
		want++
	}
	for i := range m.Tenants {
		if _, ok := digests[m.Tenants[i].File+end]; !ok {
			return damaged(o.dir, "%s does not have the file %s", sumsName, m.Tenants[i].File+end)
		}
		want++
	}
	if len(digests) != want {
		return damaged(o.dir, "%s has a file that no tenant is in", sumsName)
	}
	return nil
}

// read gives a file of the backup to a function.
func (o *opener) read(name string, do func(io.Reader) error) (err error) {
	if o.sealed {
		name += sealedEnd
	}
	path := filepath.Join(o.dir, name)
	f, err := os.Open(path)
	if err != nil {
		return refused("the file "+path+" cannot be read", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if !o.sealed {
		return do(f)
	}
	r, err := age.Decrypt(f, o.with...)
	if err != nil {
		return o.wrongKey(err)
	}
	return do(&unsealing{r, o})
}

// An unsealing reader says that the backup is damaged where it cannot be decrypted: what reads it might
// think that writing failed.
type unsealing struct {
	from io.Reader
	of   *opener
}

// Read implements [io.Reader].
func (u *unsealing) Read(p []byte) (n int, err error) {
	n, err = u.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = u.of.wrongKey(err)
	}
	return n, err
}
