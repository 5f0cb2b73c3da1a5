import { connect } from 'node:net'

/** `absent`: nothing listens. `busy`: a listener cannot serve yet, or does not answer. */
type RedisState = 'ready' | 'busy' | 'absent'

const ANSWER_MS = 1_000

/** Asks the Redis server on a unix socket whether it serves. Never rejects. */
export async function probeRedis(socket: string): Promise<RedisState> {
  const answer = await say(socket, 'PING')
  if (answer === undefined) return 'absent'
  return answer.startsWith('+PONG') ? 'ready' : 'busy'
}

/** Shuts down the Redis server on a unix socket; its append-only file remains. Never rejects. */
export async function shutDownRedis(socket: string): Promise<void> {
  await say(socket, 'SHUTDOWN NOSAVE')
}

/** Sends one inline command. Returns the reply, `''` for none, undefined when nothing listens. */
function say(path: string, command: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let connected = false
    let answer = ''
    const socket = connect(path)
    socket.setEncoding('latin1')
    socket.setTimeout(ANSWER_MS, () => socket.destroy())
    socket.once('connect', () => {
      connected = true
      socket.write(`${command}\r\n`)
    })
    socket.on('data', (chunk) => {
      answer += chunk
      if (answer.includes('\n')) socket.destroy()
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // The backlog is full, so there is a listener.
      if (error.code === 'EAGAIN') connected = true
    })
    socket.once('close', () => resolve(connected ? answer : undefined))
  })
}
