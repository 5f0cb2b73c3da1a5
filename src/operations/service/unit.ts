/** The program and the user of a unit of systemd. All paths are absolute. */
export interface ServiceFacts {
  /** `NAME.service`, the folder of its data and that of its settings: 1 to 32 of `[a-z0-9-]`, a letter first. */
  readonly name: string
  readonly user: string
  /** The program Node.js. */
  readonly node: string
  /** The folder of this ipid. */
  readonly root: string
  readonly dataDir: string
  /** `NAME=value` lines. systemd reads it as root; it need not exist. */
  readonly environmentFile: string
  /** Folders in which systemd finds programs, for example redis-server. */
  readonly path: string
}

/** The folder of data that systemd makes for its user. */
export const stateDirOf = (name: string): string => `/var/lib/${name}`

/** The file in the folder of data without which the service does not start. */
export const markOf = (dataDir: string): string => `${dataDir}/service-data`

/** The first words of a unit that `install` wrote. */
const OURS = '# Written by "ipid service install"'

export const isOurUnit = (unit: string): boolean => unit.startsWith(OURS)

/** Whether the unit already starts only where its data are. */
export const hasMark = (unit: string): boolean => /^AssertPathExists=/m.test(unit)

/**
 * A unit of systemd (man systemd.service, systemd.exec; version 240 or newer): starts at boot, after every end, and as a user of its own
 * that writes to its data only, and may listen on any port.
 */
export function systemdUnit(facts: ServiceFacts): string {
  const { name, user, node, root, dataDir, environmentFile, path } = facts
  const isStateDir = dataDir === stateDirOf(name)
  const isAtHome = [root, node].some((place) => /^\/(?:home|root)\//.test(place))
  return `${OURS}, which writes it again. Put changes into ${name}.service.d/*.conf ("systemctl edit ${name}").
[Unit]
Description=ipid: the organisations behind visits
After=network-online.target
Wants=network-online.target
# A disk of data that is not mounted would be taken for a new service without data.
RequiresMountsFor=${quoted(dataDir)}
AssertPathExists=${escaped(markOf(dataDir))}
# Starts it again after every end, without a limit.
StartLimitIntervalSec=0

[Service]
Type=exec
User=${user}
WorkingDirectory=${escaped(root)}
Environment=${quoted(`DATA_DIR=${dataDir}`)} ${quoted(`PATH=${path}`)} NODE_ENV=production
EnvironmentFile=-${escaped(environmentFile)}
ExecStart=${quoted(node)} ${argument(`${root}/src/ipid.mjs`)} start
Restart=always
RestartSec=1
# The main process stops its children in order. After this time systemd kills what still runs.
KillMode=mixed
TimeoutStopSec=30
# A child that the kernel kills for memory is started again by the main process.
OOMPolicy=continue
LimitNOFILE=1048576
StandardOutput=journal
StandardError=journal
SyslogIdentifier=${name}

# Writes to its data, and nothing else.
UMask=0077
ProtectSystem=strict
${isStateDir ? `StateDirectory=${name}\nStateDirectoryMode=0700` : `ReadWritePaths=${quoted(dataDir)}`}
ProtectHome=${isAtHome || /^\/(?:home|root)\//.test(dataDir) ? 'read-only' : 'yes'}
PrivateTmp=yes
PrivateDevices=yes
NoNewPrivileges=yes
# For ports below 1024.
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
`
}

/** Facts of a unit that `systemdUnit` wrote. */
export function factsOfUnit(unit: string): Partial<Pick<ServiceFacts, 'user' | 'dataDir' | 'environmentFile'>> {
  const [, user] = /^User=(.+)$/m.exec(unit) ?? []
  const [, word] = /^Environment=("(?:[^"\\]|\\.)*"|\S+)/m.exec(unit) ?? []
  const [, dataDir] = /^DATA_DIR=(.+)$/.exec(word === undefined ? '' : unquoted(word)) ?? []
  const [, file] = /^EnvironmentFile=-(.+)$/m.exec(unit) ?? []
  return {
    ...(user !== undefined && { user }),
    ...(dataDir !== undefined && { dataDir }),
    ...(file !== undefined && { environmentFile: unescaped(file) }),
  }
}

/** % begins a specifier, in every value. */
const escaped = (text: string): string => text.replaceAll('%', '%%')
const unescaped = (text: string): string => text.replaceAll('%%', '%')

/** A word as systemd reads it (man systemd.syntax). */
function quoted(text: string): string {
  const plain = escaped(text)
  return /^[\w/.:=+@%,$-]+$/.test(plain) ? plain : `"${plain.replace(/["\\]/g, '\\$&')}"`
}

/** The text that `quoted` made a word of. */
function unquoted(word: string): string {
  return unescaped(word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, '$1') : word)
}

/** A word of a command, in which $ begins a variable. */
const argument = (text: string): string => quoted(text.replaceAll('$', '$$$$'))

/** The first content of the file of settings. */
export function environmentExample(name: string): string {
  return `# Settings of ${name}.service, one NAME='value' a line, in single quotes: src/config/README.md lists them all.
# "systemctl restart ${name}" applies changes. Secrets from files: src/operations/service/README.md.
#PORT=8080
#HOST=127.0.0.1
#API_URL='https://events.example.com'
#DASHBOARD_URL='https://visits.example.com'
#SMTP_URL='smtps://user:password@mail.example.com'
`
}
