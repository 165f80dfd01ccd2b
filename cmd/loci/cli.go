package main

// cli is the command line.
type cli struct {
	flags

	Save    saveCmd    `cmd:"" group:"memory" help:"Remember something."`
	Search  searchCmd  `cmd:"" group:"memory" help:"Find memories by meaning and by words."`
	Recall  recallCmd  `cmd:"" group:"memory" help:"Recall the facts and rules that matter for a topic."`
	Context contextCmd `cmd:"" group:"memory" help:"Make a block of memories for the system prompt of an agent."`
	Get     getCmd     `cmd:"" group:"memory" help:"Show one memory."`
	List    listCmd    `cmd:"" group:"memory" help:"List memories, newest first."`
	Update  updateCmd  `cmd:"" group:"memory" help:"Correct a memory."`
	Delete  deleteCmd  `cmd:"" group:"memory" help:"Erase memories by id."`
	Erase   eraseCmd   `cmd:"" group:"memory" help:"Erase many memories at once."`
	Session sessionCmd `cmd:"" group:"memory" help:"Keep conversations: append, show, search, export, clear."`
	File    fileCmd    `cmd:"" group:"memory" help:"Read and change the memory that is text files."`

	Confirm    confirmCmd    `cmd:"" group:"life" help:"Say that a fact or a rule still holds."`
	Supersede  supersedeCmd  `cmd:"" group:"life" help:"Replace a fact or a note by one that holds now."`
	Forget     forgetCmd     `cmd:"" group:"life" help:"Hide a fact, a rule or an episode from every search."`
	Restore    restoreCmd    `cmd:"" group:"life" help:"Bring back what was forgotten, superseded or corrected."`
	Helpful    helpfulCmd    `cmd:"" group:"life" help:"Record that a rule helped."`
	Harmful    harmfulCmd    `cmd:"" group:"life" help:"Record that a rule did harm, and why."`
	Review     reviewCmd     `cmd:"" group:"life" help:"List the memories that someone should look at."`
	History    historyCmd    `cmd:"" group:"life" help:"Show what a memory was before."`
	Link       linkCmd       `cmd:"" group:"life" help:"Link a memory to another."`
	Links      linksCmd      `cmd:"" group:"life" help:"List the links from and to a memory."`
	Provenance provenanceCmd `cmd:"" group:"life" help:"Show where a memory comes from."`

	Namespaces  namespacesCmd  `cmd:"" group:"upkeep" help:"List the namespaces that hold memories."`
	Export      exportCmd      `cmd:"" group:"upkeep" help:"Write memories to a file."`
	Import      importCmd      `cmd:"" group:"upkeep" help:"Read memories from a file."`
	Stats       statsCmd       `cmd:"" group:"upkeep" help:"Count what is remembered."`
	Events      eventsCmd      `cmd:"" group:"upkeep" help:"Show the audit log, newest first."`
	Reindex     reindexCmd     `cmd:"" group:"upkeep" help:"Make vectors with the configured embedder, and search with them."`
	Sweep       sweepCmd       `cmd:"" group:"upkeep" help:"Erase what has expired, note what has faded, make missing vectors."`
	Migrate     migrateCmd     `cmd:"" group:"upkeep" help:"Bring a PostgreSQL or MongoDB database to this version."`
	Consolidate consolidateCmd `cmd:"" group:"upkeep" help:"Turn episodes into facts and rules with a language model."`
	BackupOf    backupCmd      `cmd:"" name:"backup" group:"upkeep" help:"Write, check and restore backups of a whole store."`
	Bench       benchCmd       `cmd:"" group:"upkeep" help:"Measure speed, or what searches find."`
	Doctor      doctorCmd      `cmd:"" group:"upkeep" help:"Check configuration, store and embedder."`

	Key      keyCmd    `cmd:"" group:"server" help:"Make, list and revoke the keys of callers of \"loci serve\"."`
	TenantOf tenantCmd `cmd:"" name:"tenant" group:"server" help:"Make, list and end tenants, and say what their callers may do."`

	Setup     setupCmd   `cmd:"" group:"agent" help:"Connect the agents on this machine to Loci."`
	MCP       mcpCmd     `cmd:"" name:"mcp" group:"agent" help:"Serve the tools to an agent over standard input and output."`
	Serve     serveCmd   `cmd:"" group:"agent" help:"Serve REST and MCP over HTTP."`
	ServiceOf serviceCmd `cmd:"" name:"service" group:"agent" help:"Let \"loci serve\" run in the background: install, remove, status."`
	Health    healthCmd  `cmd:"" group:"agent" help:"Check that a running \"loci serve\" is well."`
	Hook      hookCmd    `cmd:"" group:"agent" help:"Add memories to a prompt, as the hook of a coding agent."`
	Call      callCmd    `cmd:"" group:"agent" help:"Call one tool as an agent would."`

	Demo       demoCmd       `cmd:"" group:"about" help:"See what it does, in 20 seconds, on a store of its own."`
	Version    versionCmd    `cmd:"" group:"about" help:"Show the version."`
	Completion completionCmd `cmd:"" group:"about" help:"Print a completion script for a shell."`
	Man        manCmd        `cmd:"" name:"__man" group:"about" hidden:"" help:"Print the manual as a man page."`
	Complete   completeCmd   `cmd:"" name:"__complete" group:"about" hidden:"" help:"Print completions of the words so far."`
	Config     configCmd     `cmd:"" group:"about" hidden:"" help:"About the configuration."`
}

// flags are what every command takes. A nil flag was not given: it leaves the
// setting of the same name to the environment and the file.
type flags struct {
	Config   *string  `group:"global" placeholder:"FILE" help:"The configuration file. Default: loci/loci.yaml in the user's configuration directory, if there is one. [$LOCI_CONFIG]"`
	Store    *string  `group:"global" placeholder:"URL" help:"${store}"`
	Tenant   *string  `group:"global" placeholder:"NAME" help:"${tenant}"`
	User     *string  `group:"global" placeholder:"NAME" help:"${user}"`
	Org      *string  `group:"global" placeholder:"NAME" help:"${org}"`
	Agent    *string  `group:"global" placeholder:"NAME" help:"${agent}"`
	Thread   *string  `group:"global" placeholder:"ID" help:"${thread}"`
	Session  *string  `group:"global" placeholder:"ID" help:"${session}"`
	Tools    *string  `group:"global" placeholder:"LIST" help:"${tools}"`
	Graph    *string  `group:"global" placeholder:"FILE" help:"${graph}"`
	Embedder *string  `group:"global" placeholder:"SPEC" help:"${embedder}"`
	Listen   *string  `group:"global" placeholder:"ADDRESS" help:"${listen}"`
	Auth     *string  `group:"global" placeholder:"MODE" help:"${auth_mode}"`
	LogLevel *string  `group:"global" placeholder:"LEVEL" help:"${log_level}"`
	JSON     bool     `group:"global" name:"json" help:"Write JSON, errors included."`
	Help     helpFlag `group:"global" short:"h" help:"Show help."`

	HelpAll helpAllFlag `group:"global" help:"Show help, these flags included."`
}

// given returns the flags that were given, by key of their setting.
func (f *flags) given() map[string]string {
	given := map[string]string{}
	for key, value := range map[string]*string{"store": f.Store, "tenant": f.Tenant, "user": f.User, "org": f.Org,
		"agent": f.Agent, "thread": f.Thread, "session": f.Session, "tools": f.Tools, "graph": f.Graph, "embedder": f.Embedder, "listen": f.Listen, "auth.mode": f.Auth, "log.level": f.LogLevel} {
		if value != nil {
			given[key] = *value
		}
	}
	return given
}

// description is shown by loci --help.
const description = `The memory of AI agents: remember, search, correct and forget.

    loci save "Prefers window seats." --tag travel
    loci search "where do I like to sit"
    loci mcp

Settings come from flags, else from environment variables such as LOCI_STORE, else from one YAML file; then from
defaults. Without any, the memory of the user "default" is in a file in the user's data directory.`

// exitCodesHelp stands at the end of loci --help.
const exitCodesHelp = "Exit codes:\n\n" + exitTable
