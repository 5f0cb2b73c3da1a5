import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { type Answer, decode, encode, type Packet, TRUNCATED_RESPONSE } from 'dns-packet'

/** The server's answer for a name: records, or a failure. `silent`: no answer at all. */
export type Reply = readonly Answer[] | 'NXDOMAIN' | 'SERVFAIL' | 'REFUSED' | 'silent'

const CODES = { NXDOMAIN: 3, SERVFAIL: 2, REFUSED: 5 } as const
const UDP_MAX = 512
/** Bits of the header: the server is authoritative, and recursion is available. */
const AUTHORITATIVE = 1 << 10
const RECURSIVE = 1 << 7

/** A name server on loopback that answers over UDP, and over TCP what does not fit. */
export class DnsServer {
  /** `127.0.0.1:port` */
  address = ''
  /** Every query as `TYPE name`, in order. */
  readonly queries: string[] = []
  readonly #replies = new Map<string, Reply>()
  readonly #udp = createSocket('udp4')
  readonly #sockets = new Set<Socket>()
  readonly #tcp = createServer((socket) => this.#serve(socket))
  #held: Promise<void> | undefined
  #release = () => {}
  #stopped = false

  static async start(t: TestContext): Promise<DnsServer> {
    const server = new DnsServer()
    server.#tcp.listen(0, '127.0.0.1')
    await once(server.#tcp, 'listening')
    const { port } = server.#tcp.address() as AddressInfo
    server.#udp.on('message', async (query, { port: from, address }) => {
      const answer = await server.#answer(query, UDP_MAX)
      if (answer !== undefined && !server.#stopped) server.#udp.send(answer, from, address)
    })
    server.#udp.bind(port, '127.0.0.1')
    await once(server.#udp, 'listening')
    server.address = `127.0.0.1:${port}`
    t.after(() => server.#stop())
    return server
  }

  /** Sets the answer for names of this type; without a reply it is NXDOMAIN. */
  reply(type: 'PTR' | 'A' | 'AAAA', name: string, reply: Reply): void {
    this.#replies.set(`${type} ${name}`, reply)
  }

  /** An IPv4 address with a name that leads back to it. */
  host(address: string, name: string, ttl = 300): void {
    const reverse = `${address.split('.').reverse().join('.')}.in-addr.arpa`
    this.reply('PTR', reverse, [{ type: 'PTR', name: reverse, data: name }])
    this.reply('A', name, [{ type: 'A', name, data: address, ttl }])
  }

  /** Lets queries wait until they are released. */
  hold(): void {
    this.#held = new Promise((resolve) => {
      this.#release = resolve
    })
  }

  release(): void {
    this.#held = undefined
    this.#release()
  }

  async #answer(query: Buffer, sizeMax: number): Promise<Buffer | undefined> {
    const packet = decode(query)
    const question = packet.questions![0]!
    const key = `${question.type} ${question.name}`
    this.queries.push(key)
    await this.#held
    const reply = this.#replies.get(key) ?? 'NXDOMAIN'
    if (reply === 'silent') return undefined
    const head: Packet = {
      type: 'response',
      id: packet.id,
      questions: [question],
      flags: AUTHORITATIVE | RECURSIVE | (typeof reply === 'string' ? CODES[reply] : 0),
    }
    const answer = encode({ ...head, answers: typeof reply === 'string' ? [] : [...reply] })
    return answer.length <= sizeMax ? answer : encode({ ...head, flags: head.flags! | TRUNCATED_RESPONSE })
  }

  /** Messages with their length in front, RFC 1035 section 4.2.2. */
  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    let received = Buffer.alloc(0)
    socket.on('error', () => {})
    socket.on('data', async (chunk) => {
      received = Buffer.concat([received, chunk])
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0)
        const query = received.subarray(2, end)
        received = received.subarray(end)
        const answer = await this.#answer(query, 65_535)
        if (answer === undefined) continue
        const length = Buffer.alloc(2)
        length.writeUInt16BE(answer.length)
        socket.write(Buffer.concat([length, answer]))
      }
    })
  }

  #stop(): void {
    this.#stopped = true
    this.release()
    this.#udp.close()
    for (const socket of this.#sockets) socket.destroy()
    this.#tcp.close()
  }
}
