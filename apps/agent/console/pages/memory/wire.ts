export interface Chunk {
  id: number;
  domain: string;
  heading: string;
  content: string;
  updated_at: string;
}
