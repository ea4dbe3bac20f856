/**
 * The IndexedDB file of this tab's agent: key, hub, attempts, reports, decisions, what a person has given.
 *
 * Knows tables and transactions, not what they mean. A transaction counts once it is complete, with strict durability
 * where the browser has it.
 */

export type Table = "meta" | "attempts" | "steps" | "reports" | "decisions";
const TABLES: readonly Table[] = ["meta", "attempts", "steps", "reports", "decisions"];

/** `value` undefined removes the row. In `decisions` the key is given by the store. */
export interface Write {
  table: Table;
  key: string | number | null;
  value?: unknown;
}

export class StoreFault extends Error {}

export class Store {
  readonly #db: IDBDatabase;

  private constructor(db: IDBDatabase) {
    this.#db = db;
  }

  /** @throws StoreFault where the browser gives no lasting store, a private window for example. */
  static async open(name = "starloom-tab"): Promise<Store> {
    if (typeof indexedDB === "undefined") throw new StoreFault("this browser has no IndexedDB");
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => {
      for (const table of TABLES) {
        request.result.createObjectStore(table, table === "decisions" ? { autoIncrement: true } : undefined);
      }
    };
    try {
      const db = await settled(request);
      // Another tab of a newer page wants the file: let it have it, this one will say so at its next write.
      db.onversionchange = () => db.close();
      return new Store(db);
    } catch (error) {
      throw new StoreFault(`the browser's store cannot be opened: ${String(error)}`);
    }
  }

  async get<T>(table: Table, key: string): Promise<T | undefined> {
    return (await settled(this.#db.transaction(table).objectStore(table).get(key))) as T | undefined;
  }

  /** Every row of a table in the order of its keys. */
  async all<T>(table: Table): Promise<[IDBValidKey, T][]> {
    const rows = this.#db.transaction(table).objectStore(table);
    const [keys, values] = await Promise.all([settled(rows.getAllKeys()), settled(rows.getAll())]);
    return keys.map((key, index) => [key, values[index] as T]);
  }

  /** The newest rows first. */
  async last<T>(table: Table, count: number): Promise<T[]> {
    const request = this.#db.transaction(table).objectStore(table).openCursor(null, "prev");
    const rows: T[] = [];
    return new Promise((resolve, reject) => {
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const cursor = request.result;
        if (cursor === null || rows.length >= count) return resolve(rows);
        rows.push(cursor.value as T);
        cursor.continue();
      };
    });
  }

  /**
   * Put down all writes or none, in order; they are on disk when this returns.
   * @throws StoreFault if the browser refuses: no space, or the store was closed.
   */
  async write(writes: readonly Write[]): Promise<void> {
    if (writes.length === 0) return;
    try {
      const tables = [...new Set(writes.map((write) => write.table))];
      const transaction = this.#db.transaction(tables, "readwrite", { durability: "strict" });
      const done = new Promise<void>((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error ?? new Error("aborted"));
        transaction.onerror = () => reject(transaction.error);
      });
      for (const { table, key, value } of writes) {
        const rows = transaction.objectStore(table);
        if (value === undefined) rows.delete(key as IDBValidKey);
        else rows.put(value, key ?? undefined);
      }
      await done;
    } catch (error) {
      throw new StoreFault(`the browser's store cannot be written: ${String(error)}`);
    }
  }

  /** Forget everything in these tables; in all of them: the key, the hub, every record. */
  async empty(tables: readonly Table[] = TABLES): Promise<void> {
    const transaction = this.#db.transaction(tables as Table[], "readwrite");
    for (const table of tables) transaction.objectStore(table).clear();
    await new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(new StoreFault(String(transaction.error)));
    });
  }

  close(): void {
    this.#db.close();
  }
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
