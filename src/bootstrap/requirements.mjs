/* ipid's requirements of the machine. Plain JavaScript, because an older Node.js cannot read more. */

const NODE_MIN = [20, 12]

/** Why ipid cannot run on this Node.js and system; undefined when it can. */
export function unmetRequirement({ versions, platform } = process) {
  const [major, minor] = versions.node.split('.').map(Number)
  const isOld = major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1])
  if (isOld) return `needs Node.js ${NODE_MIN.join('.')} or newer; this is ${versions.node}`
  if (platform === 'linux' || platform === 'darwin') return undefined
  return `runs on Linux and macOS; this is ${platform} (on Windows: in WSL)`
}
